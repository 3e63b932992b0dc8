// SPDX-License-Identifier: Apache-2.0
// Which nodes come from a torch.autograd.Function or a hook, as their traces tell.
#include "compiler/Import/lost/CustomBackward.h"
#include <gmock/gmock.h>

using namespace accum::import;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {
/// A node with a traced call of these arguments.
Node callOf(std::string opType, const std::string &call) {
  Node node;
  node.opType = std::move(opType);
  node.metadata["pkg.torch.onnx.fx_node"] =
      "%y : [num_users=1] = call_function[target=torch.ops.aten." + call + ", kwargs = {})";
  return node;
}

/// Both have one frame for two scopes. The hook's is the line that calls the module; a GRU that was
/// decomposed begins in the file of its class.
TEST(CustomBackward, aDecomposedLayerHasNoHook) {
  auto told = [](const std::string &file) {
    Graph graph;
    graph.nodes = {callOf("Reshape", "view.default](args = (%addmm, [1, 3, 15])")};
    Metadata &metadata = graph.nodes.front().metadata;
    metadata["pkg.torch.onnx.class_hierarchy"] =
        "['__main__.R', 'torch.nn.modules.rnn.GRU', 'aten.view.default']";
    metadata["pkg.torch.onnx.name_scopes"] = "['', 'r', 'view_4']";
    metadata["pkg.torch.onnx.stack_trace"] = "File \"" + file + "\", line 7, in forward\n    h = self.r(x)";
    auto lost = CustomBackward(graph, {}).refusal(graph.nodes.front());
    return lost ? lost->message : "";
  };
  EXPECT_THAT(told("/home/me/train.py"), HasSubstr("full backward hook of `r`"));
  EXPECT_EQ(told("/lib/torch/nn/modules/rnn.py"), "");
  EXPECT_EQ(told("<eval_with_key>.61"), ""); // a block under torch.no_grad(), of which refusalOfBlock tells
}

/// A node in these modules of these classes, from this trace: `FILE:CODE` a frame, outermost first.
Node framed(const std::string &call, const std::string &scopes, const std::string &classes,
            std::initializer_list<const char *> frames) {
  Node node = callOf("Mul", call);
  node.name = scopes;
  node.metadata["pkg.torch.onnx.name_scopes"] = scopes;
  node.metadata["pkg.torch.onnx.class_hierarchy"] = classes;
  std::string trace;
  for (std::string_view frame : frames) {
    size_t colon = frame.find(':');
    std::string file(frame.substr(0, colon)), code(frame.substr(colon + 1));
    trace += "  File \"" + file + "\", line " + std::to_string(std::hash<std::string>()(code) % 1000) +
             ", in forward\n    " + code + "\n";
  }
  node.metadata["pkg.torch.onnx.stack_trace"] = trace;
  return node;
}

/// Of each node what is told of it.
std::vector<std::string> tellFrames(std::vector<Node> nodes) {
  Graph graph;
  graph.nodes = std::move(nodes);
  CustomBackward custom(graph, {});
  std::vector<std::string> told;
  for (const Node &node : graph.nodes) {
    std::optional<Refusal> lost = custom.refusal(node);
    told.push_back(lost ? lost->message : "");
  }
  return told;
}

constexpr const char *kMul = "mul.Tensor](args = (%x, 2)";

TEST(CustomBackward, aForwardAroundTheModelIsNoFunction) {
  // One of the instance's own, known by the file of the class.
  EXPECT_THAT(tellFrames({framed(kMul, "['', 'mul']", "['lib.net.Net', 'mul']",
                                 {"/me/train.py:return inner(self, x)", "/site/lib/net.py:y = x * 2"})}),
              ElementsAre(""));
  // Both in one file, known by the lines of what it calls.
  EXPECT_THAT(
      tellFrames({framed(kMul, "['', 'mul']", "['__main__.Net', 'mul']",
                         {"train.py:return inner(x)", "train.py:y = x * 2"}),
                  framed(kMul, "['', 'head', 'mul_1']", "['__main__.Net', 'lib.Head', 'mul']",
                         {"train.py:return inner(x)", "train.py:y = s.head(x)", "lib.py:return x * 3"})}),
      ElementsAre("", ""));
  // Two around each other: the inner one has a line of its own.
  EXPECT_THAT(tellFrames({framed(kMul, "['', 'mul']", "['__main__.Net', 'mul']",
                                 {"train.py:return outer(x)", "train.py:return inner(x)",
                                  "train.py:y = x * self.scale"}),
                          framed(kMul, "['', 'mul_1']", "['__main__.Net', 'mul']",
                                 {"train.py:return outer(x)", "train.py:return y * 2"})}),
              ElementsAre("", ""));
  // With lines of its own that speak of the model.
  const char *outer = "train.py:loss = self.weigh(inner(x))", *own = "train.py:x = act(self.x)";
  EXPECT_THAT(tellFrames({framed(kMul, "['', 'mul']", "['__main__.Net', 'mul']", {outer}),
                          framed(kMul, "['', 'mul_1']", "['__main__.Net', 'mul']", {outer, own}),
                          framed(kMul, "['', 'act.0', 'mul_2']", "['__main__.Net', '__main__.Swish', 'mul']",
                                 {outer, own, "train.py:return x * 2"})}),
              ElementsAre("", "", ""));
  // Around a part of the model.
  EXPECT_THAT(tellFrames({framed(
                  kMul, "['', 'act', 'mul']", "['__main__.Net', 'lib.act.Swish', 'mul']",
                  {"train.py:x = self.act(x)", "train.py:return inner(x)", "lib/act.py:return x * 2"})}),
              ElementsAre(""));
}

TEST(CustomBackward, aForwardInsideAModuleIsAFunction) {
  const char *module = "['', 'mul']", *type = "['__main__.Net', 'mul']";
  EXPECT_THAT(
      tellFrames({framed(kMul, module, type, {"train.py:x = Reverse.apply(x)", "train.py:return x * 2"})}),
      ElementsAre(HasSubstr("comes from `Reverse`, a torch.autograd.Function")));
  EXPECT_THAT(tellFrames({framed(kMul, module, type, {"train.py:x = reverse(x)", "train.py:return x * 2"})}),
              ElementsAre(HasSubstr("which is no module's of the model")));
  // In a forward of the instance's own.
  EXPECT_THAT(tellFrames({framed(kMul, module, "['lib.net.Net', 'mul']",
                                 {"train.py:return inner(self, x)", "lib/net.py:x = reverse(x)",
                                  "lib/net.py:return x * 2"})}),
              ElementsAre(HasSubstr("which is no module's of the model")));
  // One that calls its context self.
  EXPECT_THAT(tellFrames({framed(kMul, module, type,
                                 {"train.py:x = Reverse.apply(x)", "train.py:return x * self.scale"})}),
              ElementsAre(HasSubstr("comes from `Reverse`")));
  // In a line with a module of the same file.
  EXPECT_THAT(
      tellFrames(
          {framed(kMul, module, type, {"train.py:return self.head(reverse(x))", "train.py:return x * 2"}),
           framed(kMul, "['', 'head', 'mul_1']", "['__main__.Net', '__main__.Head', 'mul']",
                  {"train.py:return self.head(reverse(x))", "train.py:return x * self.scale"})}),
      ElementsAre(HasSubstr("which is no module's of the model"), ""));
}

TEST(CustomBackward, modulesThatNoOtherHolds) {
  const char *module = "['', 'mul']", *type = "['__main__.Net', 'mul']";
  for (const char *caller : {"train.py:return Dice()(x, y)", "train.py:return self.head.forward(x)",
                             "train.py:return nn.Sequential(a, b)(x)", "train.py:x = old_forward(x)",
                             "train.py:if a: return Dice(1)(self.net(x), y)"})
    EXPECT_THAT(tellFrames({framed(kMul, module, type, {caller, "train.py:return x * 2"})}), ElementsAre(""));
  for (const char *caller : {"train.py:return reverse(inner(x))", "train.py:return Dice()(reverse(x), y)",
                             "train.py:return Dice(reverse(x))"})
    EXPECT_THAT(tellFrames({framed(kMul, module, type, {caller, "train.py:return x * 2"})}),
                ElementsAre(HasSubstr("which is no module's of the model")));
  EXPECT_THAT(tellFrames({framed(kMul, module, type,
                                 {"train.py:return criterion(x)", "train.py:return x * self.gamma"})}),
              ElementsAre(""));
  EXPECT_THAT(
      tellFrames({framed(kMul, module, type,
                         {"train.py:def forward(self, x): return reverse(x)", "train.py:return x * 2"})}),
      ElementsAre(HasSubstr("which is no module's of the model")));
}
} // namespace
