// SPDX-License-Identifier: Apache-2.0
// One row of a table of options: all that a command line, the C interface, Python and the ranks know of one.
#ifndef ACCUM_RUNTIME_OPTIONS_OPTIONROW_H
#define ACCUM_RUNTIME_OPTIONS_OPTIONROW_H

#include "runtime/options/OptionText.h"
#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <variant>

namespace accum::runtime {

/// Returns what is wrong with a text; "" for nothing.
using TextCheck = std::string (*)(const std::string &text);

/// What of an option all ranks of a run must have alike.
enum class Agreement {
  Value,
  Presence, ///< whether it is given: files and folders may lie elsewhere on another machine
  None      ///< it concerns one process alone
};

/// Who takes an option of a run.
enum class OptionOwner {
  Process,  ///< the program that makes the run: accum-run, or Python's Runner
  Update,   ///< the session, in each update
  Schedule, ///< the session, by the number of the step
};

/// How resuming tells a value that the checkpoint was not made with; of a number the flag itself is told.
struct RecordedAs {
  const char *on = nullptr, *off = nullptr; ///< of a flag, where the checkpoint has it set and not set
};

/// What a row says beyond name, value and help.
struct OptionFacts {
  std::string shown = {};                 ///< for the value, in the help; empty: the type
  TextCheck check = nullptr;              ///< of its text, where the type does not say enough
  std::vector<const char *> choices = {}; ///< the only words that there are; empty: any
  NumberRange range = NumberRange::Any;   ///< of a number; the session checks those that it takes
  int64_t least = 0, most = INT64_MAX;    ///< of a whole number
  char letter = 0;                        ///< of a short flag
  bool isPositional = false;              ///< has no flag
  bool takesMore = false;                 ///< of a list: one flag may have several words after it
  bool isNegatable = false;               ///< of a flag: --no-NAME unsets it
  Agreement agreement = Agreement::Value;
  OptionOwner owner = OptionOwner::Process;
  uint8_t modes = 0; ///< further modes of the program in which it has a meaning
  std::optional<RecordedAs> recorded = {};
  const char *python = nullptr; ///< type and default of the keyword; null: Python has none
};

template <typename Options> struct OptionRow : OptionFacts {
  /// Reads a text that is not a single value; what is wrong with it, or "".
  using Reader = std::string (*)(const std::string &text, Options &options);
  /// Where the value goes. Its type decides what the text may be.
  using Field =
      std::variant<bool Options::*, std::string Options::*, std::vector<std::string> Options::*,
                   double Options::*, std::optional<double> Options::*, int Options::*,
                   std::optional<int> Options::*, int64_t Options::*, std::optional<int64_t> Options::*,
                   uint64_t Options::*, std::optional<uint64_t> Options::*, Reader>;

  const char *name; ///< without its dashes
  Field field;
  std::string help;  ///< empty: not listed
  const char *group; ///< of the help

  /// As the command line has it.
  std::string flag() const { return (isPositional ? "" : "--") + std::string(name); }
  /// Of the field: `row.template has<bool>()`.
  template <typename T> bool has() const { return std::holds_alternative<T Options::*>(field); }
  bool isList() const { return has<std::vector<std::string>>(); }
  bool isInt() const { return has<int>() || has<std::optional<int>>(); }
  bool isWhole() const {
    return isInt() || has<uint64_t>() || has<std::optional<uint64_t>>() || has<int64_t>() ||
           has<std::optional<int64_t>>();
  }
  bool isNumber() const { return has<double>() || has<std::optional<double>>(); }
};

/// Rows are added group by group.
template <typename Options> struct OptionTable {
  const char *group = "Options";
  std::vector<OptionRow<Options>> rows;

  void operator()(const char *name, typename OptionRow<Options>::Field field, std::string help,
                  OptionFacts facts = {}) {
    rows.push_back({std::move(facts), name, field, std::move(help), group});
  }
};

/// Assigns texts that have no complaint: of a list all of them, else the last.
template <typename Options>
void assign(const OptionRow<Options> &row, const std::vector<std::string> &texts, Options &options) {
  const std::string &text = texts.back();
  std::visit(
      [&](auto field) {
        if constexpr (std::is_same_v<decltype(field), typename OptionRow<Options>::Reader>) {
          field(text, options);
        } else {
          auto &value = options.*field;
          using Value = std::remove_reference_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::vector<std::string>>)
            value = texts;
          else if constexpr (std::is_same_v<Value, std::string>)
            value = text;
          else if constexpr (std::is_same_v<Value, bool>)
            value = text == "true";
          else if constexpr (std::is_same_v<Value, double>)
            value = numberIn(text).value();
          else if constexpr (std::is_same_v<Value, std::optional<double>>)
            value = numberIn(text);
          else if constexpr (std::is_same_v<Value, int> || std::is_same_v<Value, std::optional<int>>)
            value = int(std::stoll(text));
          else if constexpr (std::is_same_v<Value, int64_t> || std::is_same_v<Value, std::optional<int64_t>>)
            value = std::stoll(text);
          else
            value = std::stoull(text);
        }
      },
      row.field);
}

/// Calls call(value) with the field; not of one that a reader fills in.
template <typename Options, typename Own, typename Call>
void withValue(const OptionRow<Options> &row, Own &options, Call &&call) {
  std::visit(
      [&](auto field) {
        if constexpr (std::is_member_object_pointer_v<decltype(field)>)
          call(options.*field);
      },
      row.field);
}

/// A value as its text; "" where there is none.
template <typename Options> std::string valueText(const OptionRow<Options> &row, const Options &options) {
  std::string text;
  withValue(row, options, [&](const auto &value) { text = textOf(value); });
  return text;
}

/// What a number was given as; nothing for other options.
template <typename Options>
std::optional<double> numberGiven(const OptionRow<Options> &row, const Options &options) {
  const auto *field = std::get_if<std::optional<double> Options::*>(&row.field);
  return field ? options.*(*field) : std::nullopt;
}

/// What is wrong with a text of the option; "" for nothing.
template <typename Options> std::string complaint(const OptionRow<Options> &row, const std::string &text) {
  if (const auto *read = std::get_if<typename OptionRow<Options>::Reader>(&row.field)) {
    Options unused;
    return (*read)(text, unused);
  }
  if (row.check)
    return row.check(text);
  if (row.isWhole())
    return wholeComplaint(text, row.least, row.most);
  if (row.isNumber()) {
    std::string wrong = numberComplaint(text);
    bool isOutside = wrong.empty() && row.owner == OptionOwner::Process && !isIn(row.range, *numberIn(text));
    return isOutside ? "`" + text + "` is not " + describe(row.range) : wrong;
  }
  if (row.choices.empty() || std::ranges::count(row.choices, std::string_view(text)) > 0)
    return "";
  std::string known;
  for (const char *choice : row.choices)
    known += (known.empty() ? "" : ",") + std::string(choice);
  return text + " not in {" + known + "}";
}

/// What the help shows for the value.
template <typename Options> std::string shownType(const OptionRow<Options> &row) {
  if (!row.shown.empty())
    return row.shown;
  std::string type = row.isNumber() ? "FLOAT" : row.isInt() ? "INT:N" : row.isWhole() ? "UINT:N" : "TEXT";
  std::string known;
  for (const char *choice : row.choices)
    known += (known.empty() ? ":{" : ",") + std::string(choice);
  return known.empty() ? type : type + known + "}";
}

} // namespace accum::runtime
#endif
