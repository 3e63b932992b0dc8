// SPDX-License-Identifier: Apache-2.0
// The search as one JSON object, complete.
#include "compiler/Report/Explain.h"
#include <nlohmann/json.hpp>

namespace accum::planner {

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson timeLineJson(const TimeLine &line) {
  OrderedJson json = {{"name", line.name}, {"seconds", line.seconds}};
  if (line.hidden > 0)
    json["hidden"] = line.hidden;
  return json;
}

OrderedJson candidateJson(const Candidate &candidate) {
  OrderedJson json = {{"micro_batch", candidate.cut.m},
                      {"steps", candidate.cut.steps},
                      {"last", candidate.cut.last},
                      {"arena_bytes", candidate.arena},
                      {"counted_bytes", candidate.counted},
                      {"lower_bound_bytes", candidate.lowerBound},
                      {"packed", candidate.packed},
                      {"seconds", candidate.seconds},
                      {"verdict", toText(candidate.verdict)},
                      {"recomputed", candidate.recomputed},
                      {"shard", candidate.shard},
                      {"offload", candidate.offload},
                      {"reduce", candidate.reduce}};
  if (candidate.verdict == Verdict::DoesNotFit)
    json["over_bytes"] = candidate.over;
  if (!candidate.note.empty())
    json["note"] = candidate.note;
  return json;
}

OrderedJson peakJson(const PeakMoment &peak) {
  OrderedJson tensors = OrderedJson::array();
  for (const PeakTensor &tensor : peak.tensors)
    tensors.push_back({{"label", tensor.label}, {"kind", toText(tensor.kind)}, {"bytes", tensor.bytes}});
  return {{"where", peak.where}, {"bytes", peak.bytes}, {"tensors", tensors}};
}

OrderedJson commandsJson(const std::vector<CommandTime> &commands) {
  OrderedJson json = OrderedJson::array();
  for (const CommandTime &command : commands) {
    OrderedJson entry = {{"phase", command.inPhase.name},  {"phase_kind", toText(command.inPhase.kind)},
                         {"kernel", command.kernel},       {"count", command.count},
                         {"runs", command.runs},           {"seconds", command.seconds},
                         {"from", toText(command.source)}, {"bytes", command.bytes}};
    if (command.farBytes > 0)
      entry["far_bytes"] = command.farBytes;
    if (!command.call.empty())
      entry["call"] = command.call;
    for (const auto &[operation, elements] : command.work)
      entry["work"][operation] = elements;
    json.push_back(entry);
  }
  return json;
}

OrderedJson budgetsJson(const BudgetAnswers &budgets) {
  OrderedJson json = OrderedJson::array();
  for (const std::vector<BudgetAnswer> *answers : {&budgets.tighter, &budgets.larger})
    for (const BudgetAnswer &answer : *answers) {
      OrderedJson entry = {{"budget_bytes", answer.budget}, {"change_bytes", answer.change}};
      entry["reason"] = answer.chosen ? "chosen" : "does-not-fit";
      if (answer.chosen)
        entry["plan"] = candidateJson(*answer.chosen);
      json.push_back(entry);
    }
  return json;
}

} // namespace

OrderedJson toJson(const Search &search, const BudgetAnswers &budgets) {
  OrderedJson json = {{"problem", search.problem},     {"target", search.target},
                      {"rates", search.basis},         {"batch", search.batch},
                      {"devices", search.devices},     {"device_batch", search.deviceBatch},
                      {"budget_bytes", search.budget}, {"device_memory_bytes", search.memoryTotal}};
  json["reason"] = search.plan ? "chosen" : "does-not-fit";
  if (search.plan) {
    const Plan &plan = *search.plan;
    json["plan"] = {{"micro_batch", plan.cut.m},
                    {"steps", plan.cut.steps},
                    {"last", plan.cut.last},
                    {"state_bytes", plan.state},
                    {"scratch_bytes", plan.scratch},
                    {"lower_bound_bytes", plan.lowerBound},
                    {"arena_bytes", plan.arena()},
                    {"counted_bytes", plan.counted()},
                    {"total_bytes", plan.total()},
                    {"seconds", plan.seconds()},
                    {"mfu", search.mfu},
                    {"recompute", plan.recompute},
                    {"shard", plan.shard},
                    {"offload", plan.offload},
                    {"reduce", plan.reduce}};
    for (const auto &[id, variant] : plan.variants)
      json["plan"]["variants"][std::to_string(id)] = variant;
    json["time"] = OrderedJson::array();
    for (const TimeLine &line : plan.time)
      json["time"].push_back(timeLineJson(line));
  }
  json["memory"] = OrderedJson::array();
  for (const MemoryLine &line : search.memory)
    json["memory"].push_back({{"kind", toText(line.kind)}, {"name", line.name}, {"bytes", line.bytes}});
  json["candidates"] = OrderedJson::array();
  for (const Candidate &candidate : search.candidates)
    json["candidates"].push_back(candidateJson(candidate));
  json["smallest"] = candidateJson(search.candidates[search.smallest]);
  json["peak"] = peakJson(search.peak);
  json["budgets"] = budgetsJson(budgets);
  json["commands"] = commandsJson(search.commands);
  json["notices"] = search.notices;
  return json;
}

} // namespace accum::planner
