// SPDX-License-Identifier: Apache-2.0
// Grouping ops into commands changes no value: random graphs as they are, one op a command, and fused, by the
// interpreter.
#include "dialects/Train/Phases.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Fuse/Passes.h"
#include "test/dialects/NN/RandomGraph.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;

namespace accum::test {
namespace {

constexpr int64_t kSamples = 3;

/// A step whose one loop is the graph and yields a random part of its values.
OwningOpRef<ModuleOp> stepOf(RandomGraph &graph, uint64_t seed) {
  OwningOpRef<ModuleOp> module = graph.module->clone();
  auto forward = *module->getOps<func::FuncOp>().begin();
  OpBuilder builder(forward);
  Location loc = forward.getLoc();
  auto input = builder.getDictionaryAttr({{builder.getStringAttr("name"), builder.getStringAttr("x")}});
  Block &body = forward.getBody().front();
  SmallVector<Attribute> inputs(body.getNumArguments(), input);
  auto step = train::StepOp::create(builder, loc, "step", builder.getArrayAttr(inputs));
  builder.setInsertionPointToEnd(&step.getBody().emplaceBlock());
  auto loop = train::PhaseOp::create(builder, loc, "micro", /*loop=*/true);
  Block &micro = loop.getBlock();
  for (BlockArgument argument : body.getArguments())
    argument.replaceAllUsesWith(loop.capture(step.getBlock().addArgument(argument.getType(), loc), loc));
  if (!body.empty() && body.back().hasTrait<OpTrait::IsTerminator>())
    body.back().erase();
  micro.getOperations().splice(micro.end(), body.getOperations());
  std::mt19937_64 random(seed);
  SmallVector<Value> values;
  SmallVector<Attribute> targets;
  for (Operation &op : micro)
    for (Value result : op.getResults())
      if (!isa<nn::ConstantOp, train::LoadParamOp>(op) && random() % 4 == 0) {
        targets.push_back(builder.getStringAttr("value" + std::to_string(values.size())));
        values.push_back(result);
      }
  builder.setInsertionPointToEnd(&micro);
  train::YieldOp::create(builder, loc, values, builder.getArrayAttr(targets));
  train::withResults(loop, TypeRange(ValueRange(values)), SmallVector<int64_t>(values.size(), -1));
  forward.erase();
  return module;
}

void runCommand(Evaluator &evaluator, ModuleOp module, train::CommandOp command) {
  auto kernel = module.lookupSymbol<func::FuncOp>(command.getKernel());
  Block &body = kernel.getBody().front();
  Evaluator inside(evaluator.batch);
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), command.getInputs()))
    inside.set(argument, evaluator.at(input));
  inside.run(body.getOperations());
  for (auto [result, value] : llvm::zip_equal(command.getResults(), body.getTerminator()->getOperands()))
    evaluator.set(result, inside.at(value));
}

struct Outcome {
  std::vector<Array> yielded;
  int commands = 0;
};

Outcome run(ModuleOp module, const RandomGraph &graph, ArrayRef<Array> data) {
  Block &micro = module.lookupSymbol<train::StepOp>("step").getPhases().front().getBlock();
  Evaluator evaluator({kSamples, 0, {}, graph.parameters});
  for (auto [argument, array] : llvm::zip_equal(micro.getArguments(), data))
    evaluator.set(argument, array);
  Outcome outcome;
  for (Operation &op : micro.without_terminator()) {
    if (auto command = dyn_cast<train::CommandOp>(op)) {
      runCommand(evaluator, module, command);
      ++outcome.commands;
    } else {
      evaluator.run(&op);
    }
  }
  for (Value value : micro.getTerminator()->getOperands())
    outcome.yielded.push_back(evaluator.at(value));
  return outcome;
}

/// Bit for bit: the interpreter computes the same functions of the same numbers.
bool isEqual(const Outcome &a, const Outcome &b) {
  for (auto [x, y] : llvm::zip_equal(a.yielded, b.yielded))
    for (auto [i, j] : llvm::zip_equal(x.data, y.data))
      if (i != j && !(std::isnan(i) && std::isnan(j)))
        return false;
  return a.yielded.size() == b.yielded.size();
}

bool formCommands(ModuleOp module, const char *mode) {
  PassManager passes(module.getContext());
  passes.addPass(createHoistReshapes());
  passes.addPass(createJoinPads());
  FormCommandsOptions options;
  options.mode = mode;
  options.gemm = false;
  passes.addPass(createFormCommands(options));
  return succeeded(passes.run(module));
}

TEST(FuseProperty, CommandsComputeWhatTheOpsDo) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect>();
  int reference = 0, fused = 0, values = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomGraph graph(context, seed);
    graph.grow(60);
    std::vector<Array> data;
    for (Value argument : graph.forward.getArguments())
      data.push_back(graph.dataFor(argument, kSamples));
    OwningOpRef<ModuleOp> plain = stepOf(graph, seed), single = plain->clone(), grouped = plain->clone();
    ASSERT_TRUE(formCommands(*single, "reference") && formCommands(*grouped, "fused")) << "seed " << seed;
    Outcome expected = run(*plain, graph, data), one = run(*single, graph, data),
            many = run(*grouped, graph, data);
    ASSERT_TRUE(isEqual(one, expected)) << "one op a command, seed " << seed;
    ASSERT_TRUE(isEqual(many, expected)) << "fused, seed " << seed;
    reference += one.commands;
    fused += many.commands;
    values += static_cast<int>(expected.yielded.size());
  }
  EXPECT_GT(values, 1000);
  EXPECT_LT(fused, reference) << "nothing was fused";
}

} // namespace
} // namespace accum::test
