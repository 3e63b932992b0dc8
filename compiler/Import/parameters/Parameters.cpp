// SPDX-License-Identifier: Apache-2.0
// Separate what was merged, judge each initializer, tie what was duplicated, then do what the user asked.
#include "compiler/Import/parameters/Parameters.h"
#include "compiler/Import/lost/PaddingRows.h"
#include "compiler/Import/model/Contents.h"
#include "compiler/Import/model/ShortFloats.h"
#include "compiler/Import/parameters/ConstantWeights.h"
#include "compiler/Import/parameters/ModuleNames.h"
#include "compiler/Import/parameters/ParameterNotices.h"
#include "compiler/Import/parameters/ParameterPatterns.h"
#include "compiler/Import/parameters/ParameterRefusals.h"
#include "compiler/Import/parameters/ParameterRules.h"
#include "compiler/Import/parameters/SavedConstants.h"
#include "compiler/Import/parameters/SeparateMerged.h"
#include "compiler/Import/parameters/SharedNames.h"
#include "compiler/Import/parameters/Ties.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace accum::import {
namespace {

/// An initializer under judgement.
struct Entry {
  Parameter parameter;
  Standing standing = Standing::Constant;
  bool isTable = false;
  bool isGuess = false; ///< as in Verdict
  bool isFused = false; ///< as in Verdict
};

class Decision {
public:
  Decision(Model &model, const ParameterOptions &options)
      : model(model), graph(model.graph), options(options), signature(Signature::of(graph)),
        called(namesInCalls(graph, signature)), asked{options, patternsOfFile(model)} {}

  Result<ParameterTable> run() {
    Separation separation = findParameters();
    if (size_t separated = separation.names.size())
      notices.push_back(fmt::format(
          "{} parameters had been merged with equal ones by the export: trained apart", separated));
    findComputed();
    if (auto tied = tie(); !tied)
      return tied.takeFailures();
    forgetSharedNames();
    if (Failures unclear = takeForOne(separation.left); !unclear.empty())
      return unclear;
    if (Failures wrong = applyOptions(); !wrong.empty())
      return wrong;
    return finish();
  }

private:
  void judgeAll();
  Separation findParameters();
  void takeGuesses();
  void findComputed();
  Entry enter(const Tensor &tensor, const std::vector<Reader> &readers);
  Result<Done> tie();
  std::optional<Failure> apply(const Tie &tie);
  void forgetSharedNames();
  Failures takeForOne(const std::vector<SharedOrEqual> &left);
  Failures refuseMerged() const;
  Failures applyOptions();
  Failures unmatched() const;
  Failures refuseDerived() const;
  Result<ParameterTable> finish();

  Model &model;
  Graph &graph;
  const ParameterOptions &options;
  Signature signature;
  std::set<std::string> called; ///< the parameters that traced calls take, by the names they use
  Asked asked;
  std::vector<Entry> entries;
  std::vector<std::string> notices;
};

Entry Decision::enter(const Tensor &tensor, const std::vector<Reader> &readers) {
  Verdict verdict = judge(graph, tensor, signature, readers);
  Entry entry;
  entry.standing = verdict.standing;
  entry.isGuess = verdict.isGuess;
  entry.isFused = verdict.isFused;
  entry.isTable =
      std::any_of(readers.begin(), readers.end(), [](const Reader &r) { return r.role == Role::Table; });
  Parameter &parameter = entry.parameter;
  parameter.name = tensor.name;
  parameter.module = verdict.module;
  parameter.moduleTransposed = verdict.moduleTransposed;
  parameter.moduleAdded = verdict.moduleAdded;
  parameter.isNameless = verdict.isNameless;
  parameter.isRows = verdict.isRows;
  parameter.dtype = tensor.dtype;
  parameter.shape = tensor.shape;
  parameter.trained = verdict.standing == Standing::Trained;
  parameter.reason = verdict.reason;
  parameter.sourceOffset = tensor.data.offset;
  parameter.sourceBytes = tensor.byteSize();
  if (!tensor.externalLocation.empty())
    parameter.sourceFile = tensor.externalLocation;
  else if (tensor.data.file)
    parameter.sourceFile = model.path.filename().string();
  if (parameter.trained)
    nameByReaders(graph, signature, called, readers, parameter);
  else if (!isInStateDict(graph, signature, tensor.name))
    parameter.isNameless = true;
  return entry;
}

/// Where nothing else could be meant, constants that are read as weights are those.
void Decision::takeGuesses() {
  if (std::any_of(entries.begin(), entries.end(), [](const Entry &e) { return e.parameter.trained; }))
    return;
  Readers readers(graph);
  for (Entry &entry : entries) {
    Parameter &parameter = entry.parameter;
    if (!entry.isGuess || parameter.shape.empty() || !isReadAsWeight(readers.of(parameter.name)))
      continue;
    entry.standing = Standing::Trained;
    entry.isGuess = false;
    parameter.trained = true;
    parameter.reason = "read as a weight in a file that has no others";
  }
}

Separation Decision::findParameters() {
  std::vector<std::string> constants = liftConstants(graph, signature, options.trainable, /*all=*/false);
  Separation separation = separateMerged(graph, signature, options.untie);
  judgeAll();
  auto isConstant = [&](const std::string &name) {
    return std::find(constants.begin(), constants.end(), name) != constants.end();
  };
  bool hasNone = signature.isEmpty() && std::none_of(entries.begin(), entries.end(), [&](const Entry &entry) {
                   return entry.parameter.trained && !isConstant(entry.parameter.name);
                 });
  if (hasNone) {
    liftConstants(graph, signature, {}, /*all=*/true);
    separation = separateMerged(graph, signature, options.untie);
    judgeAll();
    takeGuesses();
  }
  std::vector<std::string> trained;
  for (const Entry &entry : entries) {
    const std::string &name = entry.parameter.name;
    if (entry.parameter.trained && (hasNone || isConstant(name)))
      trained.push_back(name);
  }
  if (!trained.empty())
    notices.push_back(trainedConstants(trained));
  return separation;
}

void Decision::judgeAll() {
  entries.clear();
  Readers readers(graph);
  for (const Tensor &tensor : graph.initializers)
    if (isFloat(tensor.dtype))
      entries.push_back(enter(tensor, readers.of(tensor.name)));
}

/// What an export without a signature computed from a parameter that it holds as well, told by the values:
/// the gradient of that parameter would lack a part.
void Decision::findComputed() {
  if (!signature.isEmpty())
    return;
  for (Entry &entry : entries) {
    Parameter &computed = entry.parameter;
    bool isVector = entry.standing == Standing::Trained && computed.shape.size() == 1;
    bool isComputed = entry.isGuess || entry.standing == Standing::Derived || isVector;
    if (!computed.name.starts_with("onnx::") || !isComputed)
      continue;
    auto source = std::find_if(entries.begin(), entries.end(), [&](const Entry &other) {
      return other.standing == Standing::Trained && isModuleName(other.parameter.name) &&
             isAffineIn(*graph.initializer(computed.name), *graph.initializer(other.parameter.name));
    });
    if (source == entries.end())
      continue;
    entry.standing = Standing::Derived;
    entry.isGuess = computed.trained = false;
    computed.isNameless = true;
    computed.module = source->parameter.module;
    computed.reason = fmt::format("was computed from `{}`", computed.module);
  }
}

Result<Done> Decision::tie() {
  std::vector<TieCandidate> candidates;
  for (const Entry &entry : entries)
    if (entry.parameter.trained)
      candidates.push_back({graph.initializer(entry.parameter.name), entry.parameter.module,
                            entry.parameter.moduleAliases, entry.isTable, entry.parameter.moduleTransposed,
                            entry.parameter.isTold, nameWhenMade(graph, entry.parameter.name),
                            biasBeside(graph, entry.parameter.name)});
  Ties found;
  if (!options.untie)
    found = findTies(candidates);
  for (const std::string &request : options.tie) {
    Result<Tie> byHand = tieByHand(request, candidates);
    if (!byHand)
      return byHand.takeFailures();
    found.ties.push_back(*byHand);
  }
  Failures unclear;
  for (const Tie &tie : found.ties)
    if (std::optional<Failure> failure = apply(tie))
      unclear.push_back(std::move(*failure));
  if (!unclear.empty())
    return unclear;
  notices.insert(notices.end(), found.notices.begin(), found.notices.end());
  return Done{};
}

/// Modules of a traced export that read one initializer share it, or had equal ones.
Failures Decision::takeForOne(const std::vector<SharedOrEqual> &left) {
  Failures failures;
  for (const SharedOrEqual &shared : left) {
    if (asked.tellsApart(shared.names))
      failures.push_back(disagreement(shared.names, "--untie"));
    else
      notices.push_back(sharedOrEqual(shared.names));
  }
  return failures;
}

/// Parameters that the export's calls tell apart, and that could not be given an initializer each: trained as
/// one they are others than the model's.
Failures Decision::refuseMerged() const {
  Failures failures;
  for (const Entry &entry : entries) {
    const Parameter &parameter = entry.parameter;
    if (!parameter.isTold || entry.standing != Standing::Trained)
      continue;
    std::vector<std::string> names{parameter.module};
    names.insert(names.end(), parameter.moduleAliases.begin(), parameter.moduleAliases.end());
    std::erase_if(names, [&](const std::string &name) { return !called.count(name); });
    bool isLeft =
        std::none_of(names.begin(), names.end(), [&](const std::string &name) { return asked.trains(name); });
    if (names.size() > 1 && !isLeft)
      failures.push_back(mergedByExport(names));
  }
  return failures;
}

std::optional<Failure> Decision::apply(const Tie &tie) {
  auto named = [&](const std::string &name) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const Entry &e) { return e.parameter.name == name; });
  };
  auto alias = named(tie.alias), kept = named(tie.kept);
  if (alias == entries.end() || kept == entries.end())
    return std::nullopt; // tied by hand what is tied already
  Parameter &parameter = kept->parameter;
  // A transposed copy of a table is the exporter's; two tensors with names of their own may be two
  // parameters.
  bool isCopy = tie.transposed || !isModuleName(tie.kept) || !isModuleName(tie.alias);
  if (!isCopy && asked.tellsApart({parameter.module, alias->parameter.module}))
    return disagreement({parameter.module, alias->parameter.module}, "--untie");
  for (ParameterAlias &inherited : alias->parameter.aliases)
    parameter.aliases.push_back({inherited.initializer, inherited.transposed != tie.transposed});
  parameter.aliases.push_back({tie.alias, tie.transposed});
  std::sort(parameter.aliases.begin(), parameter.aliases.end(),
            [](const auto &a, const auto &b) { return a.initializer < b.initializer; });
  notices.push_back(tieNotice(parameter, alias->parameter, tie.transposed));
  shareNames(parameter, alias->parameter, tie.transposed);
  entries.erase(alias);
  return std::nullopt;
}

/// A name that several parameters were given is no name: each is called as in the file, and aliases go.
void Decision::forgetSharedNames() {
  std::map<std::string, size_t> uses, aliasUses;
  for (const Entry &entry : entries) {
    if (!entry.parameter.trained)
      continue;
    ++uses[entry.parameter.module];
    for (const std::string &alias : entry.parameter.moduleAliases)
      ++aliasUses[alias];
  }
  for (Entry &entry : entries)
    std::erase_if(entry.parameter.moduleAliases,
                  [&](const std::string &alias) { return uses.count(alias) || aliasUses[alias] > 1; });
  for (Entry &entry : entries) {
    Parameter &parameter = entry.parameter;
    if (!parameter.trained || parameter.module == parameter.name || uses[parameter.module] < 2)
      continue;
    parameter.module = parameter.name;
    parameter.moduleTransposed = false;
    parameter.isNameless = true;
  }
}

Failures Decision::unmatched() const {
  Failures failures;
  auto check = [&](std::string_view slug, std::string_view flag, const std::vector<std::string> &patterns) {
    for (const std::string &pattern : patterns)
      if (std::none_of(entries.begin(), entries.end(),
                       [&](const Entry &e) { return matchesAny(e.parameter, {pattern}); }))
        failures.push_back(
            matchesNone(slug, fmt::format("{} {}", flag, pattern), pattern, signature.parameters,
                        namesForNote(entries.size(), [&](size_t i) { return entries[i].parameter.module; })));
  };
  check("no-such-parameter", "--trainable", options.trainable);
  check("no-such-parameter", "--freeze", options.freeze);
  check("malformed-model", fmt::format("metadata `{}`:", kFreezeKey), asked.frozenByFile);
  return failures;
}

Failures Decision::applyOptions() {
  for (Entry &entry : entries) {
    Parameter &parameter = entry.parameter;
    bool isParameter = entry.standing == Standing::Trained;
    if (!options.trainable.empty()) {
      bool isChosen =
          isParameter ? matchesAny(parameter, options.trainable) : isWrittenOut(parameter, options.trainable);
      if (isChosen != parameter.trained)
        parameter.reason = isChosen ? "asked for by --trainable" : "not named by --trainable";
      parameter.trained = isChosen;
    }
    if (options.trainable.empty() && parameter.trained && matchesAny(parameter, asked.frozenByFile)) {
      parameter.trained = false;
      parameter.reason = fmt::format("asked for by the file ({})", kFreezeKey);
    }
    if (matchesAny(parameter, options.freeze) && (isParameter || parameter.trained)) {
      parameter.trained = false;
      parameter.reason = "asked for by --freeze";
    }
  }
  return unmatched();
}

Failures Decision::refuseDerived() const {
  std::map<std::string, std::vector<std::string>> byReason;
  for (const Entry &entry : entries)
    if (entry.standing == Standing::Derived && !entry.parameter.trained &&
        !matchesAny(entry.parameter, options.freeze) && !matchesAny(entry.parameter, asked.frozenByFile))
      byReason[entry.parameter.reason].push_back(entry.parameter.name);
  Failures failures;
  for (const auto &[reason, names] : byReason)
    failures.push_back(computedByExport(names, reason, signature.isEmpty()));
  return failures;
}

Result<ParameterTable> Decision::finish() {
  ParameterTable table;
  Failures refused = refuseDerived();
  std::vector<std::string> guessed, fused;
  std::vector<const Tensor *> tables;
  std::vector<const Parameter *> trained;
  for (const Entry &entry : entries) {
    if (entry.parameter.trained)
      trained.push_back(&entry.parameter);
    else if (entry.isGuess)
      guessed.push_back(entry.parameter.name);
    if (entry.isFused && entry.parameter.trained)
      fused.push_back(entry.parameter.name);
    if (entry.isTable)
      tables.push_back(graph.initializer(entry.parameter.name));
  }
  for (const Failures &more : std::array{refuseMerged(), refuseTypes(trained)})
    refused.insert(refused.end(), more.begin(), more.end());
  for (Entry &entry : entries)
    if (entry.standing != Standing::Constant || entry.parameter.trained)
      table.parameters.push_back(std::move(entry.parameter));
  if (std::none_of(table.parameters.begin(), table.parameters.end(),
                   [](const Parameter &p) { return p.trained; })) {
    if (!refused.empty()) // the way out is another export
      return refused;
    return nothingToTrain(model, table);
  }
  table.notices = std::move(notices);
  noteGuessed(guessed, table);
  noteFused(fused, table);
  noteTraced(model, table);
  notePadding(tables, graph, table);
  if (signature.isEmpty()) {
    noteComputed(table);
    Failures rows = refuseLostPadding(tables, graph, options.trusted, table);
    refused.insert(refused.end(), rows.begin(), rows.end());
  }
  noteShortFloats(graph, table);
  table.refused = std::move(refused);
  nameShared(graph, signature, table);
  noteVanished(signature, table);
  table.stateNames = signature.stateNames();
  return table;
}
} // namespace

Result<ParameterTable> decideParameters(Model &model, const ParameterOptions &options) {
  return Decision(model, options).run();
}

} // namespace accum::import
