// SPDX-License-Identifier: Apache-2.0
// A program's calls as CUDA graphs. Calls between two boundaries (a feed, a sum over ranks, a read, the end
// of a micro-step) form a segment; first, middle and last micro-steps have segments of their own. A segment
// is
//   first   run call by call, waiting after each, so that a fault names its command;
//   then    captured, and started as one graph;
//   later   only compared, call by call, with what was captured, and started again.
// A program that calls something else gets just that: the calls so far are run as they are, and the segment
// is captured anew the next time.
#ifndef ACCUM_RUNTIME_CUDA_GRAPHREPLAY_H
#define ACCUM_RUNTIME_CUDA_GRAPHREPLAY_H

#include "runtime/cuda/ComputeStream.h"
#include "runtime/device/Device.h"
#include <array>
#include <map>

namespace accum::runtime::cuda {

class GraphReplay {
public:
  /// Puts a call on the compute stream. A call is words: its kind, the number of words behind, these words.
  using Run = std::function<Status(const uint64_t *call)>;

  GraphReplay(ComputeStream &compute, Run run);
  ~GraphReplay();
  GraphReplay(const GraphReplay &) = delete;
  GraphReplay &operator=(const GraphReplay &) = delete;

  /// Graphs are dropped, an unfinished capture too.
  void clear();
  /// A new step, or a new evaluation, which has segments of its own.
  void startStep(bool evaluates);
  /// Calls belong to this micro-step from here on, or to none; after `flush`.
  void enter(std::optional<MicroStep> step);
  /// An error is the call's own where it was run at once.
  Status add(const uint64_t *call);
  /// A boundary: everything so far is on the stream.
  Status flush();
  /// Each call is waited for, so that its time is the call's own.
  bool isStepwise() const { return stepwise; }
  /// Why graphs are not used, once.
  std::optional<std::string> refusal() const { return refused; }
  /// Graphs captured and started so far, for tests and the curious.
  struct Counts {
    uint64_t captured = 0, started = 0;
  };
  Counts counts() const { return tally; }

private:
  enum class Mode { Idle, Stepwise, Capturing, Comparing, Direct };
  /// Phase (or none), first, last, number within the micro-step or among those outside.
  using Key = std::array<uint32_t, 4>;
  struct Segment {
    std::vector<uint64_t> calls; ///< what `exec` does
    GraphExec exec = nullptr;
    bool seen = false;
    int departures = 0; ///< times that the program called something else
  };
  Status begin();
  Status runStepwise(const uint64_t *call);
  Status capture(const uint64_t *call);
  Status compare(const uint64_t *call);
  Status runAll(const std::vector<uint64_t> &calls, size_t end);
  Status finishCapture();
  void endCapture();
  Status giveUpCapture(const std::string &why);
  void drop(Segment &segment);

  ComputeStream &compute;
  Run run;
  std::map<Key, Segment> segments;
  Key key{};
  bool stepwise; ///< always: ACCUM_CUDA_STEPWISE
  bool evaluates = false;
  uint32_t outside = 0; ///< segments outside micro-steps in this step
  Segment *current = nullptr;
  Mode mode = Mode::Idle;
  size_t cursor = 0;               ///< words of `current` that were compared
  std::vector<uint64_t> recording; ///< while capturing
  std::optional<std::string> refused;
  Counts tally;
};

} // namespace accum::runtime::cuda
#endif
