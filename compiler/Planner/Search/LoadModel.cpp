// SPDX-License-Identifier: Apache-2.0
// The load at every moment of an expanded order, as lines in m, and their maximum.
#include "compiler/Planner/Search/LoadModel.h"
#include "compiler/Planner/Search/Storage.h"
#include <algorithm>
#include <cmath>

namespace accum::planner {

LoadLine LoadModel::lineOf(const Amount &amount) const {
  if (amount.table.empty())
    return {amount.fixed, amount.perSample};
  int64_t least = INT64_MAX;
  for (auto [m, bytes] : amount.table)
    least = std::min(least, bytes);
  return {least, 0};
}

/// Whether both have the same size, rounded up, at some m. Where they have not at another one, too little is
/// counted there, and never too much.
bool LoadModel::mayBeEqual(const Amount &one, const Amount &other) const {
  constexpr int64_t alignment = 256; // of the built-in profiles the largest
  if (one == other || !one.table.empty() || !other.table.empty())
    return true;
  int64_t first = one.at(smallest) - other.at(smallest), last = one.at(largest) - other.at(largest);
  return std::min(std::abs(first), std::abs(last)) < alignment || (first < 0) != (last < 0);
}

LoadModel::LoadModel(const Problem &problem, const Recomputation &flow, int64_t smallest, int64_t largest)
    : problem(problem), flow(flow), smallest(smallest), largest(largest),
      storageOf(problem.buffers.size(), kNoIndex) {
  Lifetimes lifetimes(problem);
  for (size_t index = 0; index < problem.buffers.size(); ++index) {
    const Lifetimes::Interval &life = lifetimes.life[index];
    if (lifetimes.root[index] != static_cast<int>(index) || life.isEmpty())
      continue;
    const Buffer &buffer = problem.buffers[index];
    Storage storage{static_cast<int>(index), buffer.producer, life.start, life.end};
    storage.lastEarly = buffer.producer;
    storage.line = lineOf(buffer.bytes);
    storage.crossesLoop = lifetimes.crossesLoop[index] != 0;
    for (int user : flow.users(static_cast<int>(index))) {
      if (problem.commands[user].backward)
        storage.lastLate = user;
      else
        storage.lastEarly = std::max(storage.lastEarly, user);
      if (flow.isAllowed(user))
        storage.mayRepeat.push_back(user);
    }
    for (int operand : buffer.mayAlias)
      if (int donor = storageOf[flow.root(operand)]; donor != kNoIndex)
        storage.donors.push_back(
            {donor, mayBeEqual(problem.buffers[storages[donor].buffer].bytes, buffer.bytes)});
    storageOf[index] = static_cast<int>(storages.size());
    storages.push_back(std::move(storage));
  }
  for (const Command &command : problem.commands) {
    std::vector<LoadLine> &lines = workspaces.emplace_back();
    for (const Variant &variant : command.variants)
      lines.push_back(lineOf(variant.workspace));
    if (std::ranges::any_of(lines,
                            [](const LoadLine &line) { return line.fixed != 0 || line.perSample != 0; }))
      working.push_back(static_cast<int>(workspaces.size()) - 1);
  }
}

/// In the variant that its producer runs as.
const Amount &LoadModel::bytesOf(const Storage &storage, const Choice &choice) const {
  int way = storage.producer == kNoIndex ? 0 : choice.variants[storage.producer];
  if (way != 0)
    for (const auto &[buffer, bytes] : problem.commands[storage.producer].variants[way].results)
      if (buffer == storage.buffer)
        return bytes;
  return problem.buffers[storage.buffer].bytes;
}

/// One choice: positions in its order, instances of the storages, loads.
struct LoadModel::Run {
  const LoadModel &model;
  const RunningOrder &order;
  const Choice &choice;
  std::vector<Instance> originals, clones;

  Run(const LoadModel &model, const RunningOrder &order, const Choice &choice)
      : model(model), order(order), choice(choice) {}

  bool isCloned(const Storage &storage) const {
    return storage.producer != kNoIndex && order.clone[storage.producer] != kNoIndex;
  }

  bool isDefault(const Storage &storage) const {
    return storage.producer == kNoIndex || choice.variants[storage.producer] == 0;
  }
  LoadLine lineOf(const Storage &storage) const {
    return isDefault(storage) ? storage.line : model.lineOf(model.bytesOf(storage, choice));
  }
  /// Whether they have the same size.
  bool isFit(const Donor &donor, const Storage &storage) const {
    const Storage &from = model.storages[donor.storage];
    return isDefault(from) && isDefault(storage)
               ? donor.fits
               : model.mayBeEqual(model.bytesOf(from, choice), model.bytesOf(storage, choice));
  }

  void place() {
    originals.resize(model.storages.size());
    clones.resize(model.storages.size());
    for (size_t index = 0; index < model.storages.size(); ++index) {
      const Storage &storage = model.storages[index];
      int late = kNoIndex;
      for (int user : storage.mayRepeat)
        late = std::max(late, order.clone[user]);
      Instance &value = originals[index];
      value.start = order.original[storage.start];
      if (!isCloned(storage)) {
        value.end = std::max(order.original[storage.end - 1], late) + 1;
        takePlace(storage, value, false);
        continue;
      }
      if (storage.lastLate != kNoIndex)
        late = std::max(late, order.original[storage.lastLate]);
      int made = order.clone[storage.producer];
      value.end = order.original[storage.lastEarly] + 1;
      clones[index] = {made, std::max(made, late) + 1};
      takePlace(storage, value, false);
      takePlace(storage, clones[index], true);
    }
  }

  /// A result stands where an operand stood that dies in its producer.
  void takePlace(const Storage &storage, const Instance &value, bool isClone) {
    const std::vector<Donor> &donors = storage.donors;
    if (donors.empty() || (!isClone && storage.producer != storage.start))
      return;
    bool late = isClone || model.flow.isBackward(storage.producer);
    for (const Donor &donor : donors) {
      bool fromClone = late && isCloned(model.storages[donor.storage]);
      Instance &from = fromClone ? clones[donor.storage] : originals[donor.storage];
      if (from.taken || from.start >= value.start || from.end != value.start + 1 ||
          model.storages[donor.storage].crossesLoop || !isFit(donor, storage))
        continue;
      from.taken = true;
      --from.end;
      return;
    }
  }
};

PeakCurve LoadModel::envelope(const std::vector<LoadLine> &loads) const {
  PeakCurve curve;
  auto fullest = [&](int64_t m) {
    const LoadLine *best = nullptr;
    int64_t most = -1;
    for (const LoadLine &line : loads)
      if (int64_t bytes = line.at(m); bytes > most) {
        most = bytes;
        best = &line;
      }
    return best ? *best : LoadLine{};
  };
  // Between two sizes with different fullest moments, look where their lines cross.
  auto split = [&](auto &self, LoadLine low, LoadLine high, int depth) -> void {
    if (low.perSample >= high.perSample || depth > 16)
      return;
    int64_t cross = (low.fixed - high.fixed) / (high.perSample - low.perSample);
    for (int64_t m : {cross, cross + 1}) {
      if (m <= smallest || m >= largest)
        continue;
      LoadLine middle = fullest(m);
      if (middle.at(m) <= std::max(low.at(m), high.at(m)))
        continue;
      curve.lines.push_back(middle);
      self(self, low, middle, depth + 1);
      self(self, middle, high, depth + 1);
      return;
    }
  };
  LoadLine low = fullest(smallest), high = fullest(largest);
  curve.lines = {low, high};
  split(split, low, high, 0);
  return curve;
}

namespace {

/// The sum of eighth powers, as bytes.
double crowdedness(const std::vector<LoadLine> &loads, int64_t m) {
  double sum = 0;
  for (const LoadLine &line : loads) {
    auto load = static_cast<double>(line.at(m));
    double square = load * load, fourth = square * square;
    sum += fourth * fourth;
  }
  return std::pow(sum, 0.125);
}

} // namespace

/// Of all moments.
std::vector<LoadLine> LoadModel::loadsOf(const Run &run, const Choice &choice) const {
  std::vector<LoadLine> loads(run.order.length + 1);
  auto add = [&](int start, int end, const LoadLine &bytes) {
    loads[start].fixed += bytes.fixed, loads[start].perSample += bytes.perSample;
    loads[end].fixed -= bytes.fixed, loads[end].perSample -= bytes.perSample;
  };
  for (size_t index = 0; index < storages.size(); ++index) {
    LoadLine bytes = run.lineOf(storages[index]);
    for (const std::vector<Instance> *instances : {&run.originals, &run.clones})
      if (const Instance &value = (*instances)[index]; value.start < value.end)
        add(value.start, value.end, bytes);
  }
  for (int command : working) {
    const LoadLine &bytes = workspaces[command][choice.variants[command]];
    add(run.order.original[command], run.order.original[command] + 1, bytes);
    if (int again = run.order.clone[command]; again != kNoIndex)
      add(again, again + 1, bytes);
  }
  loads.pop_back();
  for (size_t at = 1; at < loads.size(); ++at) {
    loads[at].fixed += loads[at - 1].fixed;
    loads[at].perSample += loads[at - 1].perSample;
  }
  return loads;
}

PeakCurve LoadModel::peak(const RunningOrder &order, const Choice &choice) const {
  Run run(*this, order, choice);
  run.place();
  std::vector<LoadLine> loads = loadsOf(run, choice);
  PeakCurve curve = envelope(loads);
  for (int end : {0, 1})
    curve.crowded[end] = crowdedness(loads, end == 0 ? smallest : largest);
  return curve;
}

FullestMoment LoadModel::fullest(const RunningOrder &order, const Choice &choice, int64_t m) const {
  Run run(*this, order, choice);
  run.place();
  std::vector<LoadLine> loads = loadsOf(run, choice);
  FullestMoment fullest;
  int moment = 0;
  for (size_t at = 0; at < loads.size(); ++at)
    if (int64_t bytes = loads[at].at(m); bytes > fullest.bytes) {
      fullest.bytes = bytes;
      moment = static_cast<int>(at);
    }
  fullest.crowded = crowdedness(loads, m);
  for (size_t index = 0; index < storages.size(); ++index)
    for (const std::vector<Instance> *instances : {&run.originals, &run.clones})
      if (const Instance &value = (*instances)[index]; value.start <= moment && moment < value.end)
        fullest.there.push_back(storages[index].buffer);
  return fullest;
}

} // namespace accum::planner
