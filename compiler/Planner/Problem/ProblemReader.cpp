// SPDX-License-Identifier: Apache-2.0
// The line-text form of a Problem, read: every complaint carries its line.
#include "compiler/Planner/Problem/ProblemLine.h"
#include "compiler/Planner/Problem/ProblemText.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace accum::planner {

namespace {

template <class Enum> std::optional<Enum> parseWord(std::string_view word, int count) {
  for (int index = 0; index < count; ++index)
    if (word == toText(static_cast<Enum>(index)))
      return static_cast<Enum>(index);
  return std::nullopt;
}

/// The words of one line, taken one after the other; the first complaint is kept.
class Line {
public:
  explicit Line(std::vector<Field> &fields) : fields(fields) {}

  std::string complaint;

  void complain(std::string what) {
    if (complaint.empty())
      complaint = std::move(what);
  }

  /// The next word without a key.
  std::string_view word(const char *what) {
    for (Field &field : fields)
      if (!field.taken && field.key.empty()) {
        field.taken = true;
        return field.value;
      }
    complain(fmt::format("the {} is missing", what));
    return {};
  }

  std::optional<std::string_view> value(std::string_view key) {
    for (Field &field : fields)
      if (!field.taken && field.key == key) {
        field.taken = true;
        return field.value;
      }
    return std::nullopt;
  }

  /// All values of a key; the rest of the words where it is empty.
  template <class Use> void each(std::string_view key, Use use) {
    for (Field &field : fields)
      if (!field.taken && field.key == key) {
        field.taken = true;
        use(field.value);
      }
  }

  int64_t number(std::string_view text, const char *what) {
    auto parsed = parseInteger(text);
    if (!parsed || *parsed < 0)
      complain(fmt::format("{} is `{}`, expected a number from 0 to 2^63 - 1", what, text));
    return parsed.value_or(0);
  }

  Amount amount(std::string_view text, const char *what) {
    auto parsed = parseAmount(text);
    if (!parsed)
      complain(
          fmt::format("{} is `{}`, expected A, B*m, A+B*m or table{{1:A,M:B}}, none negative", what, text));
    return parsed.value_or(Amount{});
  }

  Amount optionalAmount(const char *key) {
    auto text = value(key);
    return text ? amount(*text, key) : Amount{};
  }

  template <class Enum> Enum oneOf(const char *what, int count) {
    std::string_view text = word(what);
    auto parsed = parseWord<Enum>(text, count);
    if (!parsed)
      complain(fmt::format("`{}` is not a {}", text, what));
    return parsed.value_or(Enum{});
  }

  /// Complains about everything nobody asked for.
  void finish() {
    for (const Field &field : fields)
      if (!field.taken)
        complain(field.key.empty() ? fmt::format("unexpected word `{}`", field.value)
                                   : fmt::format("unknown or repeated key `{}`", field.key));
  }

private:
  std::vector<Field> &fields;
};

/// Lines that stand in a problem at most once.
constexpr std::string_view kOnce[] = {"name",         "batch",        "devices",
                                      "tokens",       "all-reduce",   "largest-parameter",
                                      "weight-reads", "whole-update", "clone-ids"};

class ProblemReader {
public:
  Result<Problem> read(std::string_view text, const std::string &origin);

private:
  void readLine(Line &line);
  void readFixed(Line &line);
  void readPhase(Line &line);
  int readPhaseName(Line &line);
  int phaseIndex(Line &line, std::string_view name);
  void readCommand(Line &line);
  void readGradient(Line &line);
  void readVariant(Line &line);
  void readBuffer(Line &line);
  static StateRole readRole(Line &line);
  Variant readCosts(Line &line, std::string_view name);
  int commandIndex(Line &line, std::string_view id);
  std::vector<int> indices(Line &line, const char *key, bool ofCommands);
  int bufferIndex(Line &line, std::string_view id);

  Problem problem;
  bool begun = false, listsPhases = false;
  bool said[std::size(kOnce)] = {};
  std::unordered_map<int64_t, int> commands; ///< indices by id
  std::unordered_map<std::string, int> buffers;
};

int ProblemReader::commandIndex(Line &line, std::string_view id) {
  if (auto found = commands.find(parseInteger(id).value_or(-1)); found != commands.end())
    return found->second;
  line.complain(fmt::format("command `{}` is not defined above", id));
  return kNoIndex;
}

int ProblemReader::bufferIndex(Line &line, std::string_view id) {
  if (auto found = buffers.find(std::string(id)); found != buffers.end())
    return found->second;
  line.complain(fmt::format("buffer `{}` is not defined above", id));
  return kNoIndex;
}

std::vector<int> ProblemReader::indices(Line &line, const char *key, bool ofCommands) {
  std::vector<int> result;
  auto list = line.value(key);
  for (size_t at = 0; list && at <= list->size();) {
    size_t comma = std::min(list->find(',', at), list->size());
    std::string_view id = list->substr(at, comma - at);
    result.push_back(ofCommands ? commandIndex(line, id) : bufferIndex(line, id));
    at = comma + 1;
  }
  return result;
}

StateRole ProblemReader::readRole(Line &line) {
  auto role = line.value("role");
  auto parsed = role ? parseWord<StateRole>(*role, 6) : StateRole::Other;
  if (!parsed)
    line.complain(fmt::format("`{}` is not a role", *role));
  return parsed.value_or(StateRole::Other);
}

void ProblemReader::readFixed(Line &line) {
  FixedMemory fixed;
  fixed.kind = line.oneOf<FixedKind>("kind of fixed memory", 4);
  fixed.name = line.word("name");
  fixed.bytes = line.amount(line.word("size"), "size");
  fixed.role = readRole(line);
  problem.fixed.push_back(std::move(fixed));
}

Variant ProblemReader::readCosts(Line &line, std::string_view name) {
  Variant variant{.name = std::string(name)};
  variant.flops = line.optionalAmount("flops");
  variant.bytes = line.optionalAmount("bytes");
  variant.workspace = line.optionalAmount("workspace");
  if (auto slice = line.value("slice"))
    variant.slice = line.number(*slice, "slice");
  if (auto pieces = line.value("pieces"))
    variant.pieces = line.number(*pieces, "pieces");
  if (auto text = line.value("call")) {
    auto call = parseCall(*text);
    if (!call)
      line.complain(
          fmt::format("call is `{}`, expected gemm-nn, gemm-nt, gemm-tn or gemm-tt with four sizes, or "
                      "attention[-backward][-causal] with seven",
                      *text));
    variant.call = call.value_or(CallShape{});
  }
  line.each("work", [&](std::string_view text) {
    auto count = parseOperationCount(text);
    if (!count)
      line.complain(fmt::format("work is `{}`, expected OPERATION@AMOUNT", text));
    variant.work.push_back(count.value_or(OperationCount{}));
  });
  return variant;
}

void ProblemReader::readGradient(Line &line) {
  Parameter parameter{.bytes = line.number(line.word("size"), "size")};
  if (auto after = line.value("after"))
    parameter.after = line.number(*after, "after");
  parameter.label = line.value("label").value_or("");
  problem.parameters.push_back(std::move(parameter));
}

void ProblemReader::readPhase(Line &line) {
  if (!std::exchange(listsPhases, true))
    problem.phases.clear();
  if (!problem.commands.empty())
    line.complain("a phase stands after the first command");
  Phase phase;
  phase.name = line.word("name");
  phase.kind = line.oneOf<PhaseKind>("kind of phase", static_cast<int>(PhaseKind::Rest) + 1);
  problem.phases.push_back(std::move(phase));
}

int ProblemReader::phaseIndex(Line &line, std::string_view name) {
  auto found = std::ranges::find(problem.phases, name, &Phase::name);
  if (found == problem.phases.end()) {
    line.complain(fmt::format("`{}` is not a phase", name));
    return 0;
  }
  return static_cast<int>(found - problem.phases.begin());
}

/// An index into the phases. Files that list none may call the pre-pass `prepass`.
int ProblemReader::readPhaseName(Line &line) {
  std::string_view name = line.word("phase");
  return !listsPhases && name == "prepass" ? int(usual::kPrePass) : phaseIndex(line, name);
}

void ProblemReader::readCommand(Line &line) {
  Command command;
  command.id = line.number(line.word("id"), "id");
  command.phase = readPhaseName(line);
  command.kind = line.oneOf<CommandKind>("kind of command", static_cast<int>(CommandKind::Update) + 1);
  command.kernel = line.word("kernel");
  command.node = line.value("node").value_or("");
  command.dtype = line.value("dtype").value_or("f32");
  if (auto leader = line.value("follows"))
    command.follows = commandIndex(line, *leader);
  if (auto phase = line.value("of"))
    command.of = phaseIndex(line, *phase);
  line.each("", [&](std::string_view word) {
    command.backward |= word == "backward";
    command.once |= word == "once";
    command.tail |= word == "tail";
    if (word != "backward" && word != "once" && word != "tail")
      line.complain(fmt::format("unexpected word `{}`", word));
  });
  command.variants.front() = readCosts(line, "default");
  if (!commands.emplace(command.id, static_cast<int>(problem.commands.size())).second)
    line.complain(fmt::format("command {} is defined twice", command.id));
  if (!problem.commands.empty() && command.phase < problem.commands.back().phase)
    line.complain(fmt::format("phase {} stands behind phase {}", problem.phases[command.phase].name,
                              problem.phases[problem.commands.back().phase].name));
  problem.commands.push_back(std::move(command));
}

void ProblemReader::readVariant(Line &line) {
  int command = commandIndex(line, line.word("id"));
  Variant variant = readCosts(line, line.word("name"));
  line.each("result", [&](std::string_view result) {
    size_t at = std::min(result.find('@'), result.size());
    int buffer = bufferIndex(line, result.substr(0, at));
    variant.results.emplace_back(buffer,
                                 line.amount(result.substr(std::min(at + 1, result.size())), "result"));
  });
  if (command != kNoIndex)
    problem.commands[command].variants.push_back(std::move(variant));
}

void ProblemReader::readBuffer(Line &line) {
  Buffer buffer;
  buffer.id = line.word("id");
  buffer.kind = line.oneOf<BufferKind>("kind of buffer", 7);
  buffer.bytes = line.amount(line.word("size"), "size");
  buffer.label = line.value("label").value_or("");
  if (auto producer = line.value("producer"))
    buffer.producer = commandIndex(line, *producer);
  buffer.users = indices(line, "users", true);
  if (auto storage = line.value("alias"))
    buffer.aliasOf = bufferIndex(line, *storage);
  buffer.mayAlias = indices(line, "may-alias", false);
  buffer.role = readRole(line);
  line.each("", [&](std::string_view word) {
    buffer.wholeStep = word == "whole-step";
    if (!buffer.wholeStep)
      line.complain(fmt::format("unexpected word `{}`", word));
  });
  for (int user : buffer.users)
    if (user <= buffer.producer)
      line.complain("a user does not run behind the producer");
  if (!buffers.emplace(buffer.id, static_cast<int>(problem.buffers.size())).second)
    line.complain(fmt::format("buffer {} is defined twice", buffer.id));
  problem.buffers.push_back(std::move(buffer));
}

void ProblemReader::readLine(Line &line) {
  std::string_view head = line.word("first word");
  if (const auto *once = std::find(std::begin(kOnce), std::end(kOnce), head);
      begun && once != std::end(kOnce) && std::exchange(said[once - kOnce], true))
    line.complain(fmt::format("`{}` is said twice", head));
  if (!begun) {
    if (head != "accum-problem" || line.word("version") != "1")
      line.complain("expected `accum-problem 1` first");
    begun = true;
  } else if (head == "name") {
    problem.name = line.word("name");
  } else if (head == "batch") {
    problem.batch = line.number(line.word("count"), "batch");
  } else if (head == "devices") {
    problem.devices = line.number(line.word("count"), "devices");
  } else if (head == "tokens") {
    problem.tokensPerSample = line.number(line.word("count"), "tokens per sample");
  } else if (head == "all-reduce") {
    problem.allReduceBytes = line.number(line.word("size"), "all-reduced bytes");
  } else if (head == "largest-parameter") {
    problem.largestParameter = line.number(line.word("size"), "size");
  } else if (head == "weight-reads") {
    problem.weightReads = line.number(line.word("size"), "size");
  } else if (head == "whole-update") {
    problem.wholeUpdate = line.number(line.word("0 or 1"), "whole-update");
    if (problem.wholeUpdate > 1)
      line.complain("whole-update is neither 0 nor 1");
  } else if (head == "clone-ids") {
    problem.cloneIds = line.number(line.word("id"), "first id of repetitions");
  } else if (head == "fixed") {
    readFixed(line);
  } else if (head == "gradient") {
    readGradient(line);
  } else if (head == "phase") {
    readPhase(line);
  } else if (head == "command") {
    readCommand(line);
  } else if (head == "variant") {
    readVariant(line);
  } else if (head == "buffer") {
    readBuffer(line);
  } else {
    line.complain(fmt::format(
        "`{}` does not begin a line; name, batch, devices, tokens, all-reduce, gradient, largest-parameter, "
        "weight-reads, whole-update, clone-ids, fixed, phase, command, variant and buffer do",
        head));
  }
  line.finish();
}

Result<Problem> ProblemReader::read(std::string_view text, const std::string &origin) {
  int number = 0;
  Words words;
  if (text.starts_with("\xef\xbb\xbf")) // a byte order mark
    text.remove_prefix(3);
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    auto failed = [&](const std::string &what) {
      return Error{fmt::format("{}:{}: {}", origin, number, what), "malformed-problem", {}, number};
    };
    if (Status status = splitLine(content, words); !status)
      return failed(status.error().message);
    if (words.fields.empty())
      continue;
    Line line(words.fields);
    readLine(line);
    if (!line.complaint.empty())
      return failed(line.complaint);
  }
  if (!begun)
    return Error{fmt::format("{}: no problem in it; expected `accum-problem 1` first", origin),
                 "malformed-problem"};
  if (Status status = check(problem); !status)
    return Error{fmt::format("{}: {}", origin, status.error().message), status.error().slug};
  noteCarried(problem);
  return std::move(problem);
}

} // namespace

Result<Problem> parseProblem(std::string_view text, const std::string &origin) {
  return ProblemReader().read(text, origin);
}

} // namespace accum::planner
