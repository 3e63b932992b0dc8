// SPDX-License-Identifier: Apache-2.0
// Every bad file gets one sentence that names what is wrong.
#include "compiler/Import/model/Model.h"
#include "test/compiler/Import/WireFormat.h"
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace accum::import;
using namespace accum::import::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {
class Malformed : public FolderTest {
protected:
  /// The one failure of that file, as it would be printed.
  std::string failureOf(const std::filesystem::path &path, const std::string &slug = "malformed-model") {
    auto model = readModel(path);
    if (model)
      return "accepted";
    const Failure &failure = model.failures().front();
    EXPECT_EQ(failure.slug, slug);
    EXPECT_EQ(model.failures().size(), 1u) << model.failures().back().message;
    return failure.subject + ": " + failure.message;
  }
  std::string failureOf(const GraphBytes &graph) { return failureOf(write(graph.model())); }
};

GraphBytes relu() {
  GraphBytes graph;
  graph.inputs = {value("x", {2})};
  graph.outputs = {value("y", {2})};
  graph.nodes = {node("Relu", {"x"}, {"y"}, "act")};
  return graph;
}

TEST_F(Malformed, files) {
  EXPECT_THAT(failureOf(folder), HasSubstr("is a directory"));
  EXPECT_THAT(failureOf(folder / "absent.onnx", "missing-file"), HasSubstr("no such file"));
  EXPECT_THAT(failureOf(write("")), HasSubstr("is empty"));
  EXPECT_THAT(failureOf(write("hello, world")), HasSubstr("is not an ONNX model"));
  EXPECT_THAT(failureOf(write("PK\3\4 a checkpoint")), HasSubstr("is not an ONNX model"));
  EXPECT_THAT(failureOf(write("version https://git-lfs.github.com/spec/v1\n")), HasSubstr("Git LFS pointer"));
  EXPECT_THAT(failureOf(write(Message().number(1, 10))), HasSubstr("holds no graph"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(failureOf(folder / "pipe"), HasSubstr("not a regular file"));
}

TEST_F(Malformed, truncatedAnywhere) {
  std::string whole = relu().model();
  ASSERT_TRUE(readModel(write(whole)));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(readModel(write(whole.substr(0, length)))) << length;
  GraphBytes graph = relu();
  EXPECT_THAT(failureOf(write(whole.substr(0, 40))), HasSubstr("is truncated or damaged"));
}

TEST_F(Malformed, threeGigabytesOfZeros) {
  auto path = write("");
  std::filesystem::resize_file(path, uint64_t(3) << 30);
  rusage before, after;
  ::getrusage(RUSAGE_SELF, &before);
  EXPECT_THAT(failureOf(path), HasSubstr("is not an ONNX model"));
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 << 10) << "KiB";
}

TEST_F(Malformed, names) {
  GraphBytes graph = relu();
  graph.nodes = {node("Relu", {"q"}, {"y"}, "act")};
  EXPECT_EQ(failureOf(graph), "`act`: reads `q`, which nothing defines");
  graph = relu();
  graph.outputs.push_back(value("z"));
  EXPECT_EQ(failureOf(graph), "`z`: is a graph output that nothing defines");
  graph = relu();
  graph.nodes.push_back(node("Neg", {"x"}, {"y"}, "neg"));
  EXPECT_EQ(failureOf(graph), "`y`: is defined twice: an output of `act` and an output of `neg`");
  graph = relu();
  graph.nodes = {node("Relu", {"x"}, {"x"}, "act")};
  graph.outputs.clear();
  EXPECT_EQ(failureOf(graph), "`x`: is defined twice: a graph input and an output of `act`");
  graph = relu();
  graph.nodes = {node("Relu", {"x"}, {"y"}, "\xff")};
  EXPECT_THAT(failureOf(graph), HasSubstr("not UTF-8"));
}

TEST_F(Malformed, cycle) {
  GraphBytes graph = relu();
  graph.nodes = {node("Add", {"x", "c"}, {"a"}, "A"), node("Neg", {"a"}, {"b"}, "B"),
                 node("Neg", {"b"}, {"c"}, "C"), node("Neg", {"c"}, {"y"}, "D")};
  std::string failure = failureOf(graph);
  EXPECT_THAT(failure, HasSubstr("is part of a cycle of 3 nodes"));
  EXPECT_THAT(failure, HasSubstr("`A` -> `B`"));
  EXPECT_THAT(failure, ::testing::Not(HasSubstr("`D`")));
  graph.nodes = {node("Add", {"x", "y"}, {"y"}, "A")};
  EXPECT_EQ(failureOf(graph), "`A`: reads what it computes");
}

TEST_F(Malformed, sizes) {
  GraphBytes graph = relu();
  graph.inputs = {value("x", {-2})};
  EXPECT_EQ(failureOf(graph), "`x`: has the impossible size -2");
  graph.inputs = {value("x", {1 << 30, 1 << 30})};
  EXPECT_EQ(failureOf(graph), "`x`: has the impossible size 1073741824");
  graph = relu();
  graph.initializers = {tensor("w", {-1}, 1, "")};
  EXPECT_EQ(failureOf(graph), "`w`: has the impossible shape [-1]");
  graph.initializers = {tensor("w", {int64_t(1) << 40, int64_t(1) << 40}, 1, "")};
  EXPECT_THAT(failureOf(graph), HasSubstr("`w`: has the impossible shape"));
}

/// Paddle's exporter writes -1, others a symbol that is no name.
TEST_F(Malformed, sizesThatAreNotKnown) {
  auto sizes = [&](std::initializer_list<Message> dims) {
    Message shape;
    for (const Message &dim : dims)
      shape.bytes(1, dim);
    GraphBytes graph = relu();
    graph.inputs = {
        Message().bytes(1, "x").bytes(2, Message().bytes(1, Message().number(1, 1).bytes(2, shape)))};
    auto model = readModel(write(graph.model()));
    std::vector<std::string> read;
    for (const Dim &dim : *model->graph.inputs[0].type.shape)
      read.push_back(dim.isStatic() ? std::to_string(dim.size) : dim.symbol);
    return read;
  };
  auto size = [](int64_t value) { return Message().number(1, static_cast<uint64_t>(value)); };
  auto symbol = [](std::string_view name) { return Message().bytes(2, name); };
  EXPECT_THAT(sizes({size(-1), size(3)}), ElementsAre("", "3"));
  EXPECT_THAT(sizes({symbol("?"), size(3)}), ElementsAre("?", "3")) << "all samples have one";
  EXPECT_THAT(sizes({symbol("N"), symbol("?"), symbol("?")}), ElementsAre("N", "", ""));
  EXPECT_THAT(sizes({symbol("None"), symbol("None")}), ElementsAre("", ""));
}

TEST_F(Malformed, aParameterWithTheNameOfAnArgument) {
  GraphBytes graph = relu();
  graph.nodes = {node("Mul", {"x", "b"}, {"y"}, "act")};
  graph.inputs = {value("x", {2}), value("b", {2})};
  graph.initializers = {tensor("b", {2}, 1, rawFloats({1, 2}))};
  EXPECT_TRUE(readModel(write(graph.model()))) << "a default value";
  graph.metadata = {entry("pkg.torch.export.ExportedProgram.graph_signature",
                          "\n# inputs\np_b: PARAMETER target='b'\nx: USER_INPUT\nb: USER_INPUT\n")};
  EXPECT_THAT(failureOf(graph), HasSubstr("`b`: is an input of the file and an initializer"));
  graph.metadata.clear();
  graph.inputs[1] = value("b", {3});
  EXPECT_THAT(failureOf(graph), HasSubstr("`b`: is an input of the file and an initializer"));
}

TEST_F(Malformed, initializers) {
  GraphBytes graph = relu();
  graph.initializers = {tensor("w", {2, 3}, 1, rawFloats({1, 2}))};
  EXPECT_EQ(failureOf(graph), "`w`: has 8 bytes of data, its shape [2, 3] of f32 needs 24");
  graph.initializers = {tensor("w", {2}, 99, "")};
  EXPECT_EQ(failureOf(graph), "`w`: has element type 99, which ONNX does not define");
  graph.initializers = {tensor("w", {1}, 1, rawFloats({1})), tensor("w", {1}, 1, rawFloats({1}))};
  EXPECT_THAT(failureOf(graph), HasSubstr("`w`: is defined twice"));
  // dynamo calls a transpose `t`, also where the module has a parameter of that name.
  graph.initializers = {tensor("y", {2}, 1, rawFloats({1, 2}))};
  auto model = readModel(write(graph.model()));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.failures().front().message, "is defined twice: an initializer and an output of `act`");
  EXPECT_THAT(model.failures().front().notes,
              ElementsAre(HasSubstr("call the parameter otherwise in the module")));
  graph.initializers = {tensor("__metadata__", {1}, 1, rawFloats({1}))};
  EXPECT_THAT(failureOf(graph), HasSubstr("the name that files of weights have for their own record"));
  graph.initializers = {tensor("", {1}, 1, rawFloats({1}))};
  EXPECT_EQ(failureOf(graph), "an initializer: has no name");
}

TEST_F(Malformed, saysEverythingAtOnce) {
  GraphBytes graph = relu();
  graph.initializers = {tensor("v", {2}, 99, ""), tensor("w", {2}, 99, "")};
  auto model = readModel(write(graph.model()));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.failures().size(), 2u);
}

TEST_F(Malformed, nestedTooDeeply) {
  std::string graph = relu().graph();
  for (int depth = 0; depth < 2000; ++depth) {
    GraphBytes outer = relu();
    outer.nodes = {
        node("If", {"x"}, {"y"}, "if").bytes(5, Message().bytes(1, "g").bytes(6, graph).number(20, 5))};
    graph = outer.graph();
  }
  EXPECT_THAT(failureOf(write(Message().number(1, 10).bytes(7, graph))), HasSubstr("nested too deeply"));
}

/// External data of one weight `w` at that location.
GraphBytes externalAt(std::string_view location, std::string_view offset = "0") {
  GraphBytes graph = relu();
  Message external = Message().number(1, 2).number(2, 1).bytes(8, "w").number(14, 1);
  external.bytes(13, entry("location", location)).bytes(13, entry("offset", offset));
  graph.initializers = {external};
  return graph;
}

TEST_F(Malformed, externalDataOutsideTheFolder) {
  EXPECT_THAT(failureOf(externalAt("/etc/passwd")), HasSubstr("is an absolute path"));
  EXPECT_THAT(failureOf(externalAt("../w.data")), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(failureOf(externalAt("sub/../../w.data")), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(failureOf(externalAt("")), HasSubstr("names no file"));
  std::filesystem::create_symlink("/etc/passwd", folder / "link.data");
  EXPECT_THAT(failureOf(externalAt("link.data")), HasSubstr("through a symbolic link"));
  std::filesystem::create_directory_symlink("/etc", folder / "etc");
  EXPECT_THAT(failureOf(externalAt("etc/passwd")), HasSubstr("through a symbolic link"));
}

TEST_F(Malformed, externalDataThatDoesNotFit) {
  write("0123456789", "w.data");
  EXPECT_EQ(failureOf(externalAt("w.data", "4")), "`w`: needs 8 bytes at offset 4 of `w.data`, which has 10");
  EXPECT_THAT(failureOf(externalAt("w.data", "18446744073709551615")),
              HasSubstr("needs 8 bytes at offset 1844"));
  EXPECT_EQ(failureOf(externalAt("w.data", "-4")),
            "`w`: has external data of offset `-4`, expected a number of bytes");
  std::filesystem::create_directory(folder / "d.data");
  EXPECT_THAT(failureOf(externalAt("d.data")), HasSubstr("is a directory"));
}

TEST_F(Malformed, aTruncatedFileIsToldOnce) {
  write("0123456789", "w.data");
  GraphBytes graph = externalAt("w.data", "0");
  for (const char *name : {"v", "u"}) {
    Message external = Message().number(1, 2).number(2, 1).bytes(8, name).number(14, 1);
    external.bytes(13, entry("location", "w.data")).bytes(13, entry("offset", "8"));
    graph.initializers.push_back(external);
  }
  auto model = readModel(write(graph.model()));
  ASSERT_FALSE(model);
  ASSERT_EQ(model.failures().size(), 1u);
  EXPECT_EQ(model.failures().front().subject, "`v`");
}
} // namespace
