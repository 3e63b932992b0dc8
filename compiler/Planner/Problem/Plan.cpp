// SPDX-License-Identifier: Apache-2.0
// plan.json: written with keys in a fixed order, read strictly.
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Problem/StrictJson.h"
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace accum::planner {

namespace {

constexpr const char *kFormat = "accum-plan";
constexpr int64_t kVersion = 1;
constexpr double kMaxSeconds = 1e18;

nlohmann::ordered_json timeLineJson(const TimeLine &line) {
  nlohmann::ordered_json json = {{"name", line.name}, {"seconds", line.seconds}};
  if (line.hidden > 0)
    json["hidden"] = line.hidden;
  return json;
}

nlohmann::ordered_json candidateJson(const Candidate &candidate) {
  return {{"micro_batch", candidate.cut.m},
          {"steps", candidate.cut.steps},
          {"last", candidate.cut.last},
          {"scratch", candidate.scratch},
          {"lower_bound", candidate.lowerBound},
          {"arena", candidate.arena},
          {"counted", candidate.counted},
          {"packed", candidate.packed},
          {"recomputed", candidate.recomputed},
          {"shard", candidate.shard},
          {"offload", candidate.offload},
          {"reduce", candidate.reduce},
          {"seconds", candidate.seconds},
          {"verdict", toText(candidate.verdict)},
          {"over", candidate.over},
          {"note", candidate.note}};
}

Candidate readCandidate(ObjectReader reader) {
  Candidate candidate;
  candidate.cut = {reader.integer("micro_batch", 1), reader.integer("steps", 1), reader.integer("last", 1)};
  candidate.scratch = reader.integer("scratch");
  candidate.lowerBound = reader.integer("lower_bound");
  candidate.arena = reader.integer("arena", 0, INT64_MAX);
  candidate.counted = reader.integer("counted", 0, INT64_MAX);
  candidate.packed = reader.boolean("packed");
  candidate.recomputed = reader.integer("recomputed");
  candidate.shard = reader.text("shard");
  candidate.offload = reader.text("offload");
  candidate.reduce = reader.text("reduce");
  candidate.seconds = reader.number("seconds", 0, kMaxSeconds);
  std::string verdict = reader.text("verdict");
  bool known = false;
  for (Verdict option :
       {Verdict::Chosen, Verdict::DoesNotFit, Verdict::Slower, Verdict::MoreMemory, Verdict::NotDivisible})
    if (verdict == toText(option)) {
      candidate.verdict = option;
      known = true;
    }
  if (!known)
    reader.raise("verdict", fmt::format("is `{}`, not a verdict", verdict));
  candidate.over = reader.integer("over", 0, INT64_MAX);
  candidate.note = reader.text("note");
  reader.finish();
  return candidate;
}

MemoryLine readMemoryLine(ObjectReader reader) {
  MemoryLine line;
  std::string kind = reader.text("kind");
  bool known = false;
  for (int index = 0; index <= static_cast<int>(MemoryClass::Context); ++index)
    if (kind == toText(static_cast<MemoryClass>(index))) {
      line.kind = static_cast<MemoryClass>(index);
      known = true;
    }
  if (!known)
    reader.raise("kind", fmt::format("is `{}`, not a kind of memory", kind));
  line.name = reader.text("name");
  line.bytes = reader.integer("bytes");
  reader.finish();
  return line;
}

TimeLine readTimeLine(ObjectReader reader) {
  TimeLine line{reader.text("name"), reader.number("seconds", 0, kMaxSeconds)};
  if (reader.has("hidden"))
    line.hidden = reader.number("hidden", 0, kMaxSeconds);
  reader.finish();
  return line;
}

void readChoices(ObjectReader &root, Plan &plan, Complaint &complaint) {
  plan.shard = root.text("shard");
  plan.offload = root.text("offload");
  plan.reduce = root.text("reduce");
  if (root.has("gathered"))
    plan.room.gathered = root.integer("gathered");
  if (root.has("scattered"))
    plan.room.scattered = root.integer("scattered");
  for (auto &[path, element] : root.array("recompute")) {
    if (element->is_number_integer())
      plan.recompute.push_back(element->get<int64_t>());
    else
      complaint.raise(path, "is not a command id");
  }
  for (auto &[key, element] : root.members("variants")) {
    int64_t id = 0;
    auto [end, failed] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (failed != std::errc() || end != key.data() + key.size() || !element->is_string())
      complaint.raise("variants." + key, "is not a command id with the name of a variant");
    else
      plan.variants.emplace_back(id, element->get<std::string>());
  }
}

void readSlots(ObjectReader &root, Plan &plan, Complaint &complaint) {
  for (auto &[id, offset] : root.members("slots")) {
    if (offset->is_number_integer() && *offset >= 0 && *offset <= kAmountLimit)
      plan.slots.emplace_back(id, offset->get<int64_t>());
    else
      complaint.raise("slots." + id, "is not an offset");
  }
}

/// Appends without the search for duplicates that would make large plans quadratic.
nlohmann::ordered_json slotsJson(const Plan &plan) {
  nlohmann::ordered_json::object_t object;
  nlohmann::ordered_json::object_t::Container &rows = object;
  for (const auto &[id, offset] : plan.slots)
    rows.emplace_back(id, offset);
  return object;
}

void readSizes(ObjectReader &root, Plan &plan) {
  plan.problem = root.text("problem");
  plan.target = root.text("target");
  plan.basis = root.text("basis");
  plan.batch = root.integer("batch", 1);
  plan.devices = root.integer("devices", 1);
  plan.cut = {root.integer("micro_batch", 1), root.integer("steps", 1), root.integer("last", 1)};
  plan.alignment = root.integer("align", 1, 1 << 20);
  plan.state = root.integer("state");
  plan.scratch = root.integer("scratch");
  plan.lowerBound = root.integer("lower_bound");
  plan.budget = root.integer("budget", 1, INT64_MAX);
}

} // namespace

std::string toJson(const Plan &plan) {
  nlohmann::ordered_json json = {
      {"format", kFormat},           {"version", kVersion},
      {"problem", plan.problem},     {"target", plan.target},
      {"basis", plan.basis},         {"batch", plan.batch},
      {"devices", plan.devices},     {"micro_batch", plan.cut.m},
      {"steps", plan.cut.steps},     {"last", plan.cut.last},
      {"align", plan.alignment},     {"state", plan.state},
      {"scratch", plan.scratch},     {"lower_bound", plan.lowerBound},
      {"budget", plan.budget},       {"shard", plan.shard},
      {"offload", plan.offload},     {"reduce", plan.reduce},
      {"recompute", plan.recompute}, {"variants", nlohmann::ordered_json::object()}};
  if (plan.room.gathered > 0)
    json["gathered"] = plan.room.gathered;
  if (plan.room.scattered > 0)
    json["scattered"] = plan.room.scattered;
  for (const auto &[id, variant] : plan.variants)
    json["variants"][std::to_string(id)] = variant;
  json["slots"] = slotsJson(plan);
  for (const char *list : {"memory", "time", "candidates"})
    json[list] = nlohmann::ordered_json::array();
  for (const MemoryLine &line : plan.memory)
    json["memory"].push_back({{"kind", toText(line.kind)}, {"name", line.name}, {"bytes", line.bytes}});
  for (const TimeLine &line : plan.time)
    json["time"].push_back(timeLineJson(line));
  for (const Candidate &candidate : plan.candidates)
    json["candidates"].push_back(candidateJson(candidate));
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<Plan> parsePlan(std::string_view text, const std::string &origin) {
  Result<Json> document = parseJson(text, origin, "malformed-plan");
  if (!document)
    return document.error();
  Complaint complaint{origin, "malformed-plan"};
  ObjectReader root(*document, "", complaint);
  Plan plan;
  root.expectFormat(kFormat, kVersion);
  readSizes(root, plan);
  readChoices(root, plan, complaint);
  readSlots(root, plan, complaint);
  for (auto &[path, element] : root.array("memory"))
    plan.memory.push_back(readMemoryLine({*element, path, complaint}));
  for (auto &[path, element] : root.array("time"))
    plan.time.push_back(readTimeLine({*element, path, complaint}));
  for (auto &[path, element] : root.array("candidates"))
    plan.candidates.push_back(readCandidate({*element, path, complaint}));
  root.finish();
  if (complaint.error)
    return *complaint.error;
  return plan;
}

const char *toText(Verdict verdict) {
  static constexpr const char *words[] = {"chosen", "does-not-fit", "slower", "more-memory", "not-divisible"};
  return words[static_cast<int>(verdict)];
}

const char *toText(MemoryClass kind) {
  static constexpr const char *words[] = {"state", "scratch", "inputs", "library", "runtime", "context"};
  return words[static_cast<int>(kind)];
}

int64_t Plan::counted() const {
  int64_t sum = 0;
  for (const MemoryLine &line : memory)
    sum += line.kind == MemoryClass::Context ? 0 : line.bytes;
  return sum;
}

int64_t Plan::total() const {
  int64_t sum = 0;
  for (const MemoryLine &line : memory)
    sum += line.bytes;
  return sum;
}

double Plan::seconds() const {
  double sum = 0;
  for (const TimeLine &line : time)
    sum += line.seconds;
  return sum;
}

} // namespace accum::planner
