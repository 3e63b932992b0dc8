// SPDX-License-Identifier: Apache-2.0
// Initializers as values: known content, or train.param and a load.
#include "compiler/Import/walk/ParameterOps.h"
#include "compiler/Import/content/TensorContent.h"
#include "compiler/Import/model/Contents.h"
#include "dialects/Train/ParameterName.h"
#include <limits>

using namespace mlir;

namespace accum::import {

/// Float constants up to here are nn.constant, larger ones stay in the file.
static constexpr int64_t smallConstant = 16;

static RankedTensorType typeOf(Emitter &emit, DType dtype, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, emit.elementType(computedIn(dtype)));
}

/// A float table of the file that is no parameter.
Parameter ParameterOps::tableOf(const Tensor &tensor) const {
  Parameter parameter;
  parameter.name = parameter.module = tensor.name;
  parameter.isNameless = true; // a constant: in no state_dict
  parameter.dtype = tensor.dtype;
  parameter.shape = tensor.shape;
  parameter.sourceFile =
      tensor.externalLocation.empty() ? model.path.filename().string() : tensor.externalLocation;
  parameter.sourceOffset = tensor.data.offset;
  parameter.sourceBytes = tensor.byteSize();
  return parameter;
}

void ParameterOps::declare(const Parameter &p) {
  if (!declared.insert(p.name).second || module.lookupSymbol(train::symbolFor(p.name)))
    return;
  MLIRContext *context = module.getContext();
  const Tensor *tensor = model.graph.initializer(p.name);
  uint64_t hash = tensor ? fingerprint(*tensor).value_or(0) : 0;
  SmallVector<Attribute> aliases;
  for (const ParameterAlias &alias : p.aliases)
    aliases.push_back(train::AliasAttr::get(context, alias.initializer, alias.transposed));
  auto source = train::FileAttr::get(context, p.sourceFile, static_cast<int64_t>(p.sourceOffset),
                                     static_cast<int64_t>(p.sourceBytes), hash);
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(module.getBody());
  if (!module.getBody()->empty())
    builder.setInsertionPoint(&module.getBody()->back());
  std::string symbol = train::symbolFor(p.name);
  auto op = train::ParamOp::create(builder, NameLoc::get(builder.getStringAttr(p.name)), symbol,
                                   typeOf(emit, p.dtype, p.shape), source);
  if (symbol != p.name)
    op->setAttr(train::kOnnxName, builder.getStringAttr(p.name));
  if (!aliases.empty())
    op.setAliasesAttr(builder.getArrayAttr(aliases));
  op.setTrained(p.trained);
  if (!p.module.empty() && p.module != p.name)
    op.setModule(p.module);
  op.setModuleTransposed(p.moduleTransposed);
  if (computedIn(p.dtype) != p.dtype)
    op.setFileType(p.dtype == DType::Float16 ? Type(builder.getF16Type()) : Type(builder.getBF16Type()));
  op.setNameless(p.isNameless);
  op.setRows(p.isRows);
  if (p.moduleAdded != 0)
    op.setModuleAddedAttr(builder.getF64FloatAttr(p.moduleAdded));
  if (!p.moduleAliases.empty())
    op.setModuleAliasesAttr(
        builder.getStrArrayAttr(SmallVector<StringRef>(p.moduleAliases.begin(), p.moduleAliases.end())));
}

Value ParameterOps::load(const Parameter &p, const Tensor &tensor) {
  declare(p);
  Value value = train::LoadParamOp::create(
      emit.builder, emit.location, typeOf(emit, p.dtype, p.shape),
      FlatSymbolRefAttr::get(emit.builder.getStringAttr(train::symbolFor(p.name))));
  for (const ParameterAlias &alias : p.aliases)
    if (alias.initializer == tensor.name && alias.transposed)
      return emit.transpose(value, {1, 0});
  return value;
}

/// As small masks are read: f16's lowest stands for f32's.
Value ParameterOps::withLowestOfF32(Value mask) {
  Type element = elementTypeOf(mask);
  Value isLowest =
      emit.elementwise(nn::ElementwiseFn::eq, {mask, emit.scalar(element, -double(largestHalf))});
  return emit.select(isLowest, emit.scalar(element, std::numeric_limits<float>::lowest()), mask);
}

GraphValue ParameterOps::valueOf(const Tensor &tensor) {
  const Parameter *parameter = table.find(tensor.name);
  bool trained = parameter && parameter->trained;
  bool inFile = tensor.data.file || !tensor.data.isPresent();
  if (!isFloat(tensor.dtype) || (!trained && (tensor.elementCount() <= smallConstant || !inFile)))
    if (std::optional<Content> content = contentOf(tensor))
      return *content;
  if (!isFloat(tensor.dtype) && !tensor.data.isPresent())
    throw Refusal{"missing-file",
                  "needs integers of the file " + tensor.externalLocation + ", which is not there",
                  {"shapes and positions are computed from them: a plan needs no weights, but these; "
                   "onnx.save(..., size_threshold=1024) keeps small tensors in the model"}};
  if (!isFloat(tensor.dtype))
    refuseUnsupported("needs the numbers of `" + tensor.name + "`, which are of type " +
                      std::string(name(tensor.dtype)));
  Value value = load(parameter ? *parameter : tableOf(tensor), tensor);
  return {computedIn(tensor.dtype), !trained && hidesScores(tensor) ? withLowestOfF32(value) : value};
}

} // namespace accum::import
