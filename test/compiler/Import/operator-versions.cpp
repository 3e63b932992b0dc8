// SPDX-License-Identifier: Apache-2.0
// What changed from one version of an operator to the next: the same node is taken in one opset and refused,
// or means something else, in the other.
#include "compiler/Import/Import.h"
#include "dialects/Registration.h"
#include "test/compiler/Import/WireFormat.h"
#include <gmock/gmock.h>

using namespace accum::import;
using namespace accum::import::test;
using ::testing::HasSubstr;

namespace {

Message attribute(std::string_view name, int value) {
  return Message().bytes(1, name).number(3, static_cast<uint64_t>(value)).number(20, 2);
}
Message attribute(std::string_view name, const std::vector<int64_t> &values) {
  Message message = Message().bytes(1, name).number(20, 7);
  for (int64_t value : values)
    message.number(8, static_cast<uint64_t>(value));
  return message;
}
Message attribute(std::string_view name, const char *text) {
  return Message().bytes(1, name).bytes(4, text).number(20, 3);
}

Message integers(std::string_view name, const std::vector<int64_t> &values) {
  std::string raw(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(int64_t));
  return tensor(name, {static_cast<int64_t>(values.size())}, 7, raw);
}
Message floats(std::string_view name, const std::vector<int64_t> &shape, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = 0.5F + static_cast<float>(i);
  return tensor(name, shape, 1, rawFloats(values));
}

/// A node in one opset, which makes `y` of `h` [batch, 4, 4, 2] = x * w, and what is said of it.
struct Version {
  std::string name;
  int64_t opset;
  std::vector<std::string> inputs;
  std::vector<std::string> attributes;
  std::string refusal; ///< part of it; "" where the node is taken
  std::vector<std::string> outputs = {"y"};
};

class OperatorVersions : public FolderTest {
protected:
  std::string said(const std::string &op, const Version &version) {
    GraphBytes graph;
    Message shape = Message().bytes(1, Message().bytes(2, "batch"));
    for (uint64_t size : {4, 4, 2})
      shape.bytes(1, Message().number(1, size));
    graph.inputs = {
        Message().bytes(1, "x").bytes(2, Message().bytes(1, Message().number(1, 1).bytes(2, shape)))};
    graph.outputs = {value("loss")};
    graph.initializers = {
        floats("w", {4, 4, 2}, 32), floats("four", {4}, 4),          integers("axis", {1}),
        integers("axes", {1, 2}),   integers("two", {2, 2}),         integers("pads", {0, 1}),
        floats("zero", {}, 1),      integers("zeros", {0, 4, 4, 2}), integers("one", {2})};
    Message tested = node(op, version.inputs, version.outputs, "tested");
    for (const std::string &each : version.attributes)
      tested.bytes(5, each);
    graph.nodes = {node("Mul", {"x", "w"}, {"h"}, "product"),
                   tested,
                   node("Cast", {"y"}, {"f"}, "cast").bytes(5, attribute("to", 1)),
                   node("ReduceSum", {"f"}, {"a"}, "a").bytes(5, attribute("keepdims", 0)),
                   node("ReduceSum", {"h"}, {"b"}, "b").bytes(5, attribute("keepdims", 0)),
                   node("Add", {"a", "b"}, {"loss"}, "last")};
    std::string model = Message()
                            .number(1, 10)
                            .bytes(2, "test")
                            .bytes(7, graph.graph())
                            .bytes(8, Message().bytes(1, "").number(2, static_cast<uint64_t>(version.opset)));
    mlir::DialectRegistry registry;
    accum::registerDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    ImportOptions options;
    options.path = write(model).string();
    ImportReport report;
    Failures failures;
    auto module = importModel(context, options, report, failures);
    failures.insert(failures.end(), report.crossBatch.begin(), report.crossBatch.end());
    return failures.empty() ? "" : failures.front().message + " [" + failures.front().slug + "]";
  }

  void check(const std::string &op, const std::vector<Version> &versions) {
    for (const Version &version : versions) {
      std::string message = said(op, version);
      std::string what = op + " " + version.name + " in opset " + std::to_string(version.opset);
      if (version.refusal.empty())
        EXPECT_EQ(message, "") << what;
      else
        EXPECT_THAT(message, HasSubstr(version.refusal)) << what;
    }
  }
};

std::string lacks(const std::string &attribute) { return "has the attribute `" + attribute + "`, which"; }

TEST_F(OperatorVersions, axesBecameInputs) {
  std::vector<std::string> list = {attribute("axes", std::vector<int64_t>{1})};
  check("ReduceSum", {{"axes", 11, {"h"}, list, ""},
                      {"axes", 13, {"h"}, list, lacks("axes")},
                      {"axes", 11, {"h", "axis"}, {}, "has 2 inputs"},
                      {"axes", 13, {"h", "axis"}, {}, ""}});
  for (const char *op : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                         "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"})
    check(op, {{"axes", 13, {"h"}, list, ""},
               {"axes", 18, {"h"}, list, lacks("axes")},
               {"axes", 13, {"h", "axis"}, {}, "has 2 inputs"},
               {"axes", 18, {"h", "axis"}, {}, ""},
               {"noop", 13, {"h"}, {attribute("noop_with_empty_axes", 1)}, lacks("noop_with_empty_axes")}});
  check("Unsqueeze", {{"axes", 11, {"h"}, list, ""},
                      {"axes", 13, {"h"}, list, lacks("axes")},
                      {"axes", 11, {"h", "axis"}, {}, "has 2 inputs"},
                      {"axes", 13, {"h", "axis"}, {}, ""}});
  check("Squeeze", {{"axes", 11, {"h"}, list, "squeezes an axis of 4"},
                    {"axes", 13, {"h"}, list, lacks("axes")},
                    {"axes", 13, {"h", "axis"}, {}, "squeezes an axis of 4"}});
}

TEST_F(OperatorVersions, otherAttributesBecameInputs) {
  check("Clip", {{"bounds", 11, {"h", "zero"}, {}, ""},
                 {"bounds", 11, {"h"}, {attribute("axis", 1)}, lacks("axis")}});
  std::vector<std::string> halves = {attribute("axis", 1), attribute("split", std::vector<int64_t>{2, 2})};
  check("Split",
        {{"split", 11, {"h"}, halves, "", {"y", "z"}},
         {"split", 13, {"h"}, halves, lacks("split"), {"y", "z"}},
         {"split", 13, {"h", "two"}, {attribute("axis", 1)}, "", {"y", "z"}},
         {"uneven",
          13,
          {"h"},
          {attribute("axis", 1)},
          "splits 4 elements into 3 equal pieces",
          {"y", "z", "u"}},
         {"uneven", 18, {"h"}, {attribute("axis", 1), attribute("num_outputs", 3)}, "", {"y", "z", "u"}},
         {"number",
          13,
          {"h"},
          {attribute("axis", 1), attribute("num_outputs", 2)},
          lacks("num_outputs"),
          {"y", "z"}},
         {"batch", 18, {"h"}, {attribute("num_outputs", 2)}, "takes part of the batch", {"y", "z"}}});
  check("Dropout", {{"ratio", 10, {"h"}, {}, "operator `Dropout` (opset 10) is not supported"},
                    {"ratio", 12, {"h"}, {}, ""}});
  check("Pad", {{"axes", 13, {"h", "pads", "", "axis"}, {}, "has 4 inputs"},
                {"axes", 18, {"h", "pads", "", "axis"}, {}, ""},
                {"pads", 10, {"h"}, {}, "operator `Pad` (opset 10) is not supported"}});
  check("Slice", {{"starts", 9, {"h"}, {}, "operator `Slice` (opset 9) is not supported"}});
  check("TopK",
        {{"largest",
          10,
          {"h", "one"},
          {attribute("axis", 1), attribute("largest", 0)},
          lacks("largest"),
          {"y", "i"}},
         {"largest", 11, {"h", "one"}, {attribute("axis", 1), attribute("largest", 0)}, "", {"y", "i"}}});
}

TEST_F(OperatorVersions, attributesCame) {
  check("Reshape", {{"zero", 13, {"h", "zeros"}, {attribute("allowzero", 0)}, lacks("allowzero")},
                    {"zero", 14, {"h", "zeros"}, {attribute("allowzero", 0)}, ""}});
  check("Shape", {{"start", 13, {"h"}, {attribute("start", 1)}, lacks("start")},
                  {"start", 15, {"h"}, {attribute("start", 1)}, ""}});
  check("ArgMax",
        {{"last",
          11,
          {"h"},
          {attribute("axis", 1), attribute("select_last_index", 0)},
          lacks("select_last_index")},
         {"last", 12, {"h"}, {attribute("axis", 1), attribute("select_last_index", 0)}, ""},
         {"last", 12, {"h"}, {attribute("axis", 1), attribute("select_last_index", 1)}, "selects the last"}});
  check("Cast",
        {{"saturate", 18, {"h"}, {attribute("to", 1), attribute("saturate", 1)}, lacks("saturate")},
         {"saturate", 19, {"h"}, {attribute("to", 1), attribute("saturate", 1)}, ""},
         {"round_mode", 23, {"h"}, {attribute("to", 1), attribute("round_mode", "up")}, lacks("round_mode")},
         {"round_mode", 24, {"h"}, {attribute("to", 1), attribute("round_mode", "up")}, ""}});
  std::string kernel = attribute("kernel_shape", std::vector<int64_t>{2, 2});
  std::string dilations = attribute("dilations", std::vector<int64_t>{1, 1});
  check("AveragePool", {{"dilations", 18, {"h"}, {kernel, dilations}, lacks("dilations")},
                        {"dilations", 19, {"h"}, {kernel, dilations}, ""},
                        {"ceil_mode", 9, {"h"}, {kernel, attribute("ceil_mode", 1)}, lacks("ceil_mode")},
                        {"ceil_mode", 10, {"h"}, {kernel, attribute("ceil_mode", 1)}, ""}});
  check("MaxPool", {{"dilations", 9, {"h"}, {kernel, dilations}, lacks("dilations")},
                    {"dilations", 10, {"h"}, {kernel, dilations}, ""},
                    {"ceil_mode", 9, {"h"}, {kernel, attribute("ceil_mode", 1)}, lacks("ceil_mode")}});
  std::string block = attribute("blocksize", 2);
  check("SpaceToDepth", {{"mode", 13, {"h"}, {block, attribute("mode", "CRD")}, lacks("mode")},
                         {"mode", 28, {"h"}, {block, attribute("mode", "CRD")}, ""},
                         {"mode", 28, {"h"}, {block, attribute("mode", "DRC")}, "has mode = DRC"}});
  check("DepthToSpace", {{"mode", 10, {"h"}, {block}, "operator `DepthToSpace` (opset 10) is not supported"},
                         {"mode", 11, {"h"}, {block, attribute("mode", "CRD")}, ""}});
  check("Resize",
        {{"axes", 17, {"h", "", "", "two"}, {attribute("axes", std::vector<int64_t>{1, 2})}, lacks("axes")},
         {"axes", 18, {"h", "", "", "two"}, {attribute("axes", std::vector<int64_t>{1, 2})}, ""},
         {"sizes", 10, {"h", "", "", "two"}, {}, "has 4 inputs"}});
}

TEST_F(OperatorVersions, meaningsChanged) {
  check("BatchNormalization", {{"trains",
                                13,
                                {"h", "four", "four", "four", "four"},
                                {},
                                "(training mode, told by its outputs)",
                                {"y", "m", "v", "", ""}},
                               {"trains", 13, {"h", "four", "four", "four", "four"}, {}, "", {"y"}},
                               {"trains", 13, {"h", "four", "four", "four", "four"}, {}, "", {"y", "", ""}},
                               {"trains",
                                13,
                                {"h", "four", "four", "four", "four"},
                                {attribute("training_mode", 1)},
                                lacks("training_mode")},
                               {"trains",
                                14,
                                {"h", "four", "four", "four", "four"},
                                {attribute("training_mode", 1)},
                                "(training_mode=1)"},
                               {"trains", 14, {"h", "four", "four", "four", "four"}, {}, ""},
                               {"statistics",
                                14,
                                {"h", "four", "four", "four", "four"},
                                {},
                                "has 5 outputs",
                                {"y", "m", "v", "c", "d"}}});
  check("GroupNormalization",
        {{"before", 17, {"h", "four", "four"}, {attribute("num_groups", 2)}, "operator `GroupNormalization`"},
         {"scales", 18, {"h", "four", "four"}, {attribute("num_groups", 2)}, "turns [4] into [1, 2, 1]"},
         {"scales", 21, {"h", "four", "four"}, {attribute("num_groups", 2)}, ""},
         {"stash",
          20,
          {"h", "four", "four"},
          {attribute("num_groups", 4), attribute("stash_type", 1)},
          lacks("stash_type")}});
}

TEST_F(OperatorVersions, nothingBeyondTheNewest) {
  check(
      "Relu",
      {{"newest", 28, {"h"}, {}, ""},
       {"newer", 29, {"h"}, {}, "speaks opset 29; the newest whose operators are known is 28 [unsupported]"},
       {"invented", 20, {"h"}, {attribute("slope", 1)}, lacks("slope")},
       {"inputs", 20, {"h", "zero"}, {}, "has 2 inputs; in opset 20 it takes 1 [malformed-model]"}});
}
} // namespace
