// SPDX-License-Identifier: Apache-2.0
// What the planner knows of a training step: commands in order, the buffers between them, and the memory that
// is fixed.
#pragma once
#include "compiler/Planner/Problem/Amount.h"
#include "compiler/Planner/Problem/CallShape.h"
#include "compiler/Planner/Problem/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accum::planner {

/// What a phase of a step is. Loop and Main are K iterations over the micro-batches; Main is the one with a
/// backward part, or in an evaluation the one that adds up the loss: the search decides about its commands.
/// Once: values that are the same for every sample. Update: what runs once and changes parameters. Rest: K -
/// 1 iterations, all but the first, whose part Main computes on its way.
enum class PhaseKind : uint8_t { Loop, Main, Once, Update, Rest };

inline bool isLoop(PhaseKind kind) {
  return kind == PhaseKind::Loop || kind == PhaseKind::Main || kind == PhaseKind::Rest;
}

struct Phase {
  std::string name = {}; ///< unique
  PhaseKind kind = PhaseKind::Once;

  bool operator==(const Phase &) const = default;
};

/// The phases of a problem that lists none, and their numbers.
///
///     pre-pass x K | prologue | micro x K | all-reduce | update
const std::vector<Phase> &usualPhases();
namespace usual {
enum : int { kPrePass, kPrologue, kMicro, kUpdate };
}

/// Which rate of the device profile bounds the arithmetic. Loss is the pair that contains the vocabulary
/// GEMM.
enum class CommandKind : uint8_t { Gemm, Attention, Convolution, Loss, Kernel, Gather, Copy, Update };

/// Decides the memory line that a buffer is counted in, nothing else.
enum class BufferKind : uint8_t { Activation, Logits, Gradient, Workspace, Io, Total, Constant };

/// Fixed memory. State: the one flat range that the manifest lays out (parameters, gradients, optimizer
/// slots, scalars), whose lines sum to `Plan::state`. Inputs: staging of input rows. Library: what libraries
/// take for themselves. Runtime: anything else that counts against the budget.
enum class FixedKind : uint8_t { State, Inputs, Library, Runtime };

inline constexpr int kNoIndex = -1;

/// What a line of the state holds, which decides how it is sharded and offloaded. Master: weights in the
/// optimizer's precision, in addition to those that the commands read. Frozen: parameters in parts that are
/// not trained.
enum class StateRole : uint8_t { Other, Parameters, Master, Gradients, Optimizer, Frozen };

/// A variant of a command. Bytes are those moved to and from memory, not those held.
struct Variant {
  std::string name = "default";
  Amount flops = {};
  Amount bytes = {};
  /// Samples that the command processes at a time, slice after slice, each with its own costs; 0: all samples
  /// of a micro-step at once. With `pieces`, a slice is such a part of its samples.
  int64_t slice = 0, pieces = 1;
  CallShape call = {};                   ///< of a library call
  std::vector<OperationCount> work = {}; ///< of a kernel
  /// Scratch that lives during this command only; planned like a buffer, slot "ID:w".
  Amount workspace = {};
  /// Results (indices into Problem::buffers) that have another size in this variant; 0 where it has none.
  std::vector<std::pair<int, Amount>> results = {};
};

struct Command {
  int64_t id = 0;            ///< unique, stable across dumps
  int phase = usual::kMicro; ///< an index into Problem::phases
  CommandKind kind = CommandKind::Kernel;
  std::string kernel = {};                     ///< e.g. `ln_fwd`
  std::string node = {};                       ///< the ONNX node that it came from, for people
  std::string dtype = "f32";                   ///< the arithmetic's type: `f32`, `tf32`, `bf16`, `f64`
  std::vector<Variant> variants = {Variant{}}; ///< never empty; 0 is the default
  /// An earlier command (index) whose variant this one takes over, by name; where it has none of that name,
  /// the default. For pairs such as the forward and backward part of a chunked loss.
  int follows = kNoIndex;
  /// Belongs to the backward part of a micro-step, as do all later commands of the phase.
  bool backward = false;
  /// Has an effect besides its results (adds to an accumulator, stores), so that it never runs twice.
  bool once = false;
  /// A fused kernel runs the command before this one and this one, and the costs there are those of both.
  /// Only a recomputation runs this command alone; its own costs are those of that.
  bool tail = false;
  /// Bytes of values that the forward part of a micro-step leaves for the backward part, where this command
  /// writes them, or is the first of that part to read them. Set by `noteCarried`.
  Amount carried = {};
  /// Of a command of Main: the phase that runs once, for which it runs between the forward part and the
  /// backward part of the first micro-step, and never again.
  int of = kNoIndex;
  int64_t cloneOf = -1; ///< in an expanded problem: the id of the command that this one repeats
};

/// A value between commands. All links are indices into Problem::commands and Problem::buffers.
///
/// Lifetime, half-open over the command order: from the producer to after the last user (at least one command
/// long). A buffer whose producer and users stand in different phases lives, in each loop that it touches,
/// through the whole loop. A buffer without a producer is there from the start of the phase of its first
/// user.
struct Buffer {
  std::string id = {};    ///< unique, no white space: `17:0` is result 0 of command 17
  std::string label = {}; ///< for people: what makes it, `h.0.mlp.c_fc: node_addmm_2`
  BufferKind kind = BufferKind::Activation;
  Amount bytes = {};
  int producer = kNoIndex;
  std::vector<int> users = {};
  /// The storage of this one is that of another buffer, from its first byte (a reshape, an accumulator's new
  /// value). May chain. The storage lives while any of its views does; a view is never larger than its
  /// storage.
  int aliasOf = kNoIndex;
  /// Operands of the producer whose place this one may take, where the operand dies in the producer. The
  /// place is the operand's offset, and this buffer must not be larger.
  std::vector<int> mayAlias = {};
  /// Lives from the first command to the last (totals, values the runtime reads after the step).
  bool wholeStep = false;
  /// Parameters: a copy of weights in another type, spread over devices as they are. Such a one is
  /// whole-step, of one size for all m, and has no views.
  StateRole role = StateRole::Other;
};

struct FixedMemory {
  FixedKind kind = FixedKind::State;
  std::string name = {}; ///< as printed: `gradients f32`
  Amount bytes = {};
  StateRole role = StateRole::Other; ///< of State lines; sizes with a role do not depend on m
};

/// What commands read of a parameter: a copy of it in half the bytes, it and the copy, or it alone.
enum class ReadAs : uint8_t { Copy, Both, Itself };

/// A parameter as the state holds it. Its gradient takes as many bytes.
struct Parameter {
  int64_t bytes = 0;      ///< in the state, padding included
  int64_t after = -1;     ///< the id of the last command that adds to its gradient; -1: none does
  std::string label = {}; ///< its name
  /// Ids of the commands that read it, that read its copy, and that add to its gradient. The compiler knows
  /// them; problem files do not contain them.
  std::vector<int64_t> readers = {}, copyReaders = {}, adders = {};
  ReadAs readAs = ReadAs::Itself; ///< in any program of the artifact; in no problem file
};

struct Problem {
  std::string name = {};
  /// What the step was asked for, so that a problem in a file says it; `solve` takes it from its options. 0:
  /// not said.
  int64_t batch = 0, devices = 0;
  int64_t tokensPerSample = 0;  ///< for tokens/s; 0 where a sample has none
  int64_t allReduceBytes = 0;   ///< gradients: summed over the devices once a step, or scattered
  int64_t largestParameter = 0; ///< bytes: the piece in which sharded weights and gradients travel
  /// Bytes of the weights that a micro-step reads, where it reads copies of some; 0: all of them as they are.
  int64_t weightReads = 0;
  /// The update takes sums over whole tensors: where state is spread, devices gather a unit and all of them
  /// update it. 0 or 1.
  int64_t wholeUpdate = 0;
  /// The repetition of command `id` has the id `cloneIds + id`. 0: ids after the largest one here.
  int64_t cloneIds = 0;
  Amount carried = {}; ///< bytes of all values that a forward part leaves for the backward part
  /// Bytes that another program of the artifact, the evaluation, takes for parameters that are gathered.
  int64_t gatheredElsewhere = 0;
  std::vector<Parameter> parameters = {}; ///< trained ones, in the order of the state; empty: not known
  /// Parameters that are not trained, of which a device may hold a part: bytes, label and readers of each. In
  /// no problem file.
  std::vector<Parameter> frozen = {};
  std::vector<FixedMemory> fixed = {};
  std::vector<Phase> phases = usualPhases(); ///< in execution order; at most one is Main
  std::vector<Command> commands = {};        ///< in execution order, hence ascending by phase
  std::vector<Buffer> buffers = {};

  PhaseKind kindOf(const Command &command) const { return phases[command.phase].kind; }
  bool isMain(const Command &command) const { return kindOf(command) == PhaseKind::Main; }
  bool isInLoop(const Command &command) const { return isLoop(kindOf(command)); }
  /// The phase whose time it is part of.
  int timedIn(const Command &command) const { return command.of == kNoIndex ? command.phase : command.of; }
  /// kNoIndex where there is none.
  int mainPhase() const;
};

/// Whether the problem means something: ids unique, links in range, every user after its producer, aliases
/// without cycles, amounts not negative. Everything else in this library takes a problem that passed. Slug
/// `malformed-problem`.
Status check(const Problem &problem);

/// Whether every amount and their sum stay in range for all m up to `largest`, and no view is larger than its
/// storage at either end. Slug `malformed-problem`.
Status checkAmounts(const Problem &problem, int64_t smallest, int64_t largest);

/// Says of each command, and of the problem, what is carried from forward parts to backward parts. Follows
/// from the lists; a problem made from another one (expand) keeps what was said of that one, so that a search
/// and its plan mean the same times. For a problem that passed `check`.
void noteCarried(Problem &problem);

/// Everything but the commands and buffers.
Problem withoutLists(const Problem &problem);

const char *toText(PhaseKind kind);
/// What people read: `micro-step`, `once per step`, or its name.
std::string labelOf(const Phase &phase);
const char *toText(CommandKind kind);
const char *toText(BufferKind kind);
const char *toText(FixedKind kind);
const char *toText(StateRole role); ///< `other`, `parameters`, `master`, `gradients`, `optimizer`, `frozen`

} // namespace accum::planner
