// SPDX-License-Identifier: Apache-2.0
// Rules: operators that make values out of nothing but attributes and shapes.
#include "compiler/Import/content/TensorContent.h"
#include "compiler/Import/walk/Binder.h"

using namespace mlir;

namespace accum::import {

static Content floats(llvm::ArrayRef<float> values, llvm::ArrayRef<Extent> shape) {
  std::vector<Element> elements;
  for (float value : values)
    elements.push_back(Element::floating(value));
  return Content::dense(DType::Float32, shape, std::move(elements));
}

static Content integers(llvm::ArrayRef<int64_t> values, llvm::ArrayRef<Extent> shape) {
  std::vector<Element> elements;
  for (int64_t value : values)
    elements.push_back(Element::integer(value));
  return Content::dense(DType::Int64, shape, std::move(elements));
}

static Extent extentOfList(size_t size) { return Extent::fixed(static_cast<int64_t>(size)); }

static void constant(Binder &node) {
  const Node &n = node.node;
  if (const auto *tensor = n.attribute<Tensor>("value")) {
    std::optional<Content> content = contentOf(*tensor);
    if (!content)
      refuseUnsupported("holds a tensor of " + std::string(name(tensor->dtype)));
    return node.set(0, *content);
  }
  if (const auto *value = n.attribute<float>("value_float"))
    return node.set(0, floats({*value}, {}));
  if (const auto *value = n.attribute<int64_t>("value_int"))
    return node.set(0, integers({*value}, {}));
  if (const auto *list = n.attribute<std::vector<float>>("value_floats"))
    return node.set(0, floats(*list, {extentOfList(list->size())}));
  if (const auto *list = n.attribute<std::vector<int64_t>>("value_ints"))
    return node.set(0, integers(*list, {extentOfList(list->size())}));
  refuseUnsupported("holds neither numbers nor a tensor");
}

static void constantOfShape(Binder &node) {
  Shape shape = shapeFrom(node.integerContent(0));
  requireSane(shape);
  Content value = Content::scalar(DType::Float32, Element::floating(0));
  if (const auto *tensor = node.node.attribute<Tensor>("value")) {
    std::optional<Content> given = contentOf(*tensor);
    if (!given || given->size() != 1)
      refuseMalformed("attribute `value` is not one number");
    value = *given;
  }
  if (batchAxes(shape).size() > 1)
    refuseCrossBatch("makes a tensor over pairs of samples");
  node.set(0, Content::splat(value.dtype, shape, value.only()));
}

static void range(Binder &node) {
  for (int64_t i = 0; i < 3; ++i)
    if (node.content(i).size() != 1)
      refuseMalformed("`" + node.node.inputs[i] + "` is not a scalar");
  if (node.content(1).dtype != node.content(0).dtype || node.content(2).dtype != node.content(0).dtype)
    refuseMalformed("has a start, a limit and a delta of different element types");
  if (isFloat(node.content(0).dtype) ? node.content(2).only().real == 0
                                     : sameElement(node.content(2).only(), {}))
    refuseMalformed("counts in steps of 0");
  Folded folded = foldRange(node.content(0), node.content(1), node.content(2));
  if (!folded)
    refuseCrossBatch("counts up to a limit that is neither static nor a multiple of the batch size");
  node.set(0, *folded);
}

static void eyeLike(Binder &node) {
  const Shape &shape = node.input(0).shape;
  if (shape.size() != 2 || shape[0].batched || shape[1].batched)
    refuseUnsupported("has an input that is not a static matrix");
  DType type = computedIn(dtypeFromNumber(node.integer("dtype", static_cast<int64_t>(node.input(0).dtype)))
                              .value_or(DType::Float32));
  int64_t diagonal = node.integer("k", 0);
  std::vector<Element> elements;
  for (int64_t row = 0; row < shape[0].count; ++row)
    for (int64_t column = 0; column < shape[1].count; ++column)
      elements.push_back(isFloat(type) ? Element::floating(column - row == diagonal)
                                       : Element::integer(column - row == diagonal));
  node.set(0, Content::dense(type, shape, std::move(elements)));
}

void addConstantRules(RuleTable &table) {
  table.add("Constant", 1, constant,
            "value value_float value_floats value_int value_ints ~sparse_value ~value_string ~value_strings");
  table.add("ConstantOfShape", 9, constantOfShape, "value");
  table.add("Range", 11, range, "~stash_type");
  table.add("EyeLike", 9, eyeLike, "dtype k");
}

} // namespace accum::import
