// SPDX-License-Identifier: Apache-2.0
// Rows of the state, and whose they are.
#include "passes/Fuse/UpdateKernels.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/NN/Placement.h"
#include "passes/Fuse/UpdateFormulas.h"

using namespace mlir;

namespace accum {

/// The parameter that each row belongs to, as i64: a binary search in the table of first rows, which costs a
/// row what a table of all rows would cost memory. `part`: these are the rows of that one of `parts` equal
/// parts; or null.
static Value ownersOfRows(UpdateMath &f, ArrayRef<int64_t> starts, int64_t parts, Value part) {
  auto type = [&](ArrayRef<int64_t> shape) {
    return nn::Placement::replicated().place(RankedTensorType::get(shape, f.b.getI64Type()));
  };
  auto constant = [&](ArrayRef<int64_t> shape, ArrayRef<int64_t> values) -> Value {
    return nn::ConstantOp::create(f.b, type(shape), DenseElementsAttr::get(nn::slabOf(type(shape)), values));
  };
  int64_t rows = starts.back() / parts;
  auto column = type({rows, 1});
  Value row = nn::IotaOp::create(f.b, column, 0);
  if (part)
    row = f.add(row, f.map(nn::ElementwiseFn::mul, {part, constant({}, {rows})}));
  Value owner = nn::BroadcastOp::create(f.b, column, constant({}, {0}));
  SmallVector<int64_t> table(starts.drop_back());
  table.resize(llvm::PowerOf2Ceil(table.size()), starts.back()); // nobody's
  Value firsts = constant({static_cast<int64_t>(table.size())}, table);
  for (auto half = static_cast<int64_t>(table.size()) / 2; half > 0; half /= 2) {
    Value behind = f.add(owner, constant({}, {half}));
    Value first = f.place(nn::GatherOp::create(f.b, firsts, behind, int64_t(0)));
    owner = f.map(nn::ElementwiseFn::select, {f.map(nn::ElementwiseFn::ge, {row, first}), behind, owner});
  }
  return owner;
}

func::FuncOp buildUpdateKernel(const runtime::OptimizerSpec &optimizer, ArrayRef<int64_t> starts,
                               Type element, int64_t ranks, int64_t pieces) {
  MLIRContext *context = element.getContext();
  Location loc = NameLoc::get(StringAttr::get(context, optimizer.name));
  nn::Placement replicated = nn::Placement::replicated();
  Type wide = Float64Type::get(context);
  int64_t columns = device::kStateAlignment * 8 / element.getIntOrFloatBitWidth();
  auto count = static_cast<int64_t>(starts.size()) - 1;
  Type rows = replicated.place(RankedTensorType::get({starts.back() / (ranks * pieces), columns}, element));
  SmallVector<Type> inputs = {replicated.place(RankedTensorType::get({ACCUM_HYPER_COUNT}, wide))};
  inputs.push_back(replicated.place(RankedTensorType::get({2 * count}, wide)));
  inputs.append((ranks > 1 ? 1 : 0) + (pieces > 1 ? 1 : 0),
                replicated.place(RankedTensorType::get({}, IntegerType::get(context, 64))));
  inputs.append(2 + optimizer.slots.size(), rows);
  SmallVector<Type> results(1 + optimizer.slots.size(), rows);
  auto kernel = func::FuncOp::create(loc, "update", FunctionType::get(context, inputs, results));
  Block *body = kernel.addEntryBlock();
  ImplicitLocOpBuilder builder(loc, context);
  builder.setInsertionPointToEnd(body);
  UpdateMath f(builder, element, body->getArgument(0));
  UpdateOperands operands;
  Value part = ranks > 1 ? body->getArgument(2) : Value();
  if (part && pieces > 1)
    part = f.map(nn::ElementwiseFn::mul, {part, f.integer(pieces)});
  if (pieces > 1) {
    Value piece = body->getArgument(ranks > 1 ? 3 : 2);
    part = part ? f.add(part, piece) : piece;
  }
  Value owners = ownersOfRows(f, starts, ranks * pieces, part);
  auto own = [&](Value index) {
    return f.place(nn::GatherOp::create(f.b, body->getArgument(1), index, int64_t(0)));
  };
  Value first = f.add(owners, owners);
  operands.decay = own(first);
  operands.rate = f.mul(f.scalar(ACCUM_HYPER_LR), own(f.add(first, f.integer(1))));
  auto ranges = body->getArguments().take_back(2 + optimizer.slots.size());
  operands.parameter = ranges[0];
  operands.gradient = f.mul(ranges[1], f.narrow(f.scalar(ACCUM_HYPER_GRAD_SCALE)));
  operands.slots = ranges.drop_front(2);
  func::ReturnOp::create(f.b, updated(optimizer, f, operands));
  kernel->setAttr("accum.update", StringAttr::get(context, optimizer.name));
  return kernel;
}

} // namespace accum
