// SPDX-License-Identifier: Apache-2.0
// device.program -> LLVM IR. Offsets into the interface's structs come from its header.
#include "compiler/Emit/Program.h"
#include "compiler/Emit/ProgramTable.h"
#include "passes/Schedule/StateLayout.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include <cstddef>

using namespace accum::device;

namespace accum::emit {
namespace {

/// step, eval or predict: a call after the other, each followed by a branch to the exit.
class FunctionWriter {
public:
  FunctionWriter(llvm::Function *function, mlir::Region &region);
  void write();

private:
  void writeBlock(mlir::Block &block);
  void writeOp(mlir::Operation *op);
  void writeLoop(ForMicroOp loop);
  void writeSlices(ForSlicesOp loop);
  void writeLaunch(LaunchOp launch);
  void writeGemm(GemmOp gemm);
  void writeAttention(AttentionOp attention);
  /// A copy of these constant words in which pointers can be filled in.
  template <typename Words> llvm::Value *copyOf(const Words &words, llvm::Value *to, const char *name);
  /// Of a range that is cut into `parts`.
  void writeSum(uint64_t entry, mlir::Value buffer, int64_t parts = 1);
  void writeInspect(InspectGradientsOp inspect);
  void writeGather(AllGatherOp gather);
  llvm::Value *bytes(mlir::Value buffer) { return b.getInt64(definition(buffer).getBytes()); }
  void writeIf(llvm::Value *condition, llvm::function_ref<void()> body);
  void writeZero(ZeroOp zero);
  void writeCopy(CopyOp copy);
  void endMicro(uint64_t phase, llvm::Value *k);

  /// Where a buffer's place begins.
  llvm::Value *address(BufferOp buffer);
  llvm::Value *stateAddress(BufferOp buffer);
  /// The same, further by its steps. Computed anew for every use: addresses that live across thousands of
  /// calls take register allocation a time that grows with their square.
  llvm::Value *pointer(mlir::Value buffer);
  llvm::Value *at(llvm::Value *base, uint64_t bytes) {
    return b.CreateConstGEP1_64(b.getInt8Ty(), base, bytes);
  }
  llvm::Value *load(llvm::Type *type, llvm::Value *base, uint64_t bytes) {
    return b.CreateLoad(type, at(base, bytes));
  }
  llvm::Value *flag(Update update);
  /// Calls entry `offset` of the runtime's table with the context and `arguments`.
  llvm::Value *call(uint64_t offset, llvm::ArrayRef<llvm::Value *> arguments);
  /// Leaves with `code`, or with the result itself, where that is not zero.
  void check(llvm::Value *result, llvm::Value *code = nullptr);
  llvm::Value *codeOf(uint64_t command) { return b.getInt32(static_cast<uint32_t>(command) + 1); }
  llvm::BasicBlock *newBlock(const char *name) {
    return llvm::BasicBlock::Create(function->getContext(), name, function);
  }

  llvm::Function *function;
  mlir::Region &region;
  llvm::IRBuilder<> b;
  llvm::PointerType *ptr;
  llvm::BasicBlock *exit;
  llvm::PHINode *result;
  llvm::Value *context, *steps, *hyper, *runtime;
  llvm::Value *arguments, *gemmWords, *attentionWords, *row, *rows;
  llvm::Value *done; ///< with several lengths: how many micro-steps of a phase's loops are over
  // Inside a loop: whether this is the first micro-step and slice, or the last micro-step, an i1.
  llvm::Value *first = nullptr, *last = nullptr;
  llvm::SmallVector<llvm::Value *, 2> rounds; ///< of the loops over slices around the builder, i64
};

size_t mostArguments(mlir::Region &region) {
  size_t most = 1;
  region.walk([&](LaunchOp launch) { most = std::max<size_t>(most, launch.getArgs().size() + 1); });
  return most;
}

} // namespace

FunctionWriter::FunctionWriter(llvm::Function *function, mlir::Region &region)
    : function(function), region(region),
      b(llvm::BasicBlock::Create(function->getContext(), "entry", function)), ptr(b.getPtrTy()) {
  context = function->getArg(0);
  steps = function->getArg(1);
  hyper = function->arg_size() > 2 ? function->getArg(2) : nullptr;
  exit = newBlock("exit");
  result = llvm::PHINode::Create(b.getInt32Ty(), 0, "result", exit);
  llvm::ReturnInst::Create(function->getContext(), result, exit);
  arguments = b.CreateAlloca(ptr, b.getInt64(mostArguments(region)), "arguments");
  gemmWords = b.CreateAlloca(b.getInt64Ty(), b.getInt64(sizeof(accum_gemm) / 8), "gemm");
  attentionWords = b.CreateAlloca(b.getInt64Ty(), b.getInt64(sizeof(accum_attention) / 8), "attention");
  row = b.CreateAlloca(b.getInt64Ty(), nullptr, "row");
  rows = b.CreateAlloca(b.getInt32Ty(), nullptr, "rows");
  done = region.getParentOfType<ProgramOp>().getLengths() ? b.CreateAlloca(b.getInt32Ty(), nullptr, "done")
                                                          : nullptr;
  runtime = load(ptr, context, offsetof(accum_ctx, rt));
}

void FunctionWriter::write() {
  writeBlock(region.front());
  result->addIncoming(b.getInt32(0), b.GetInsertBlock());
  b.CreateBr(exit);
}

void FunctionWriter::writeBlock(mlir::Block &block) {
  for (mlir::Operation &op : block)
    writeOp(&op);
}

void FunctionWriter::writeOp(mlir::Operation *op) {
  llvm::TypeSwitch<mlir::Operation *>(op)
      .Case([&](ForMicroOp loop) { writeLoop(loop); })
      .Case([&](ForSlicesOp loop) { writeSlices(loop); })
      .Case([&](FirstMicroOp part) { writeIf(first, [&] { writeBlock(part.getBody().front()); }); })
      .Case([&](LaunchOp launch) { writeLaunch(launch); })
      .Case([&](GemmOp gemm) { writeGemm(gemm); })
      .Case([&](AttentionOp attention) { writeAttention(attention); })
      .Case([&](AllReduceOp reduce) { writeSum(offsetof(accum_runtime_v1, all_reduce), reduce.getTarget()); })
      .Case([&](StartAllReduceOp start) {
        writeIf(last, [&] { writeSum(offsetof(accum_runtime_v1, start_all_reduce), start.getTarget()); });
      })
      .Case([&](InspectGradientsOp inspect) { writeInspect(inspect); })
      .Case([&](ReduceScatterOp reduce) {
        uint64_t entry = reduce.getStart() ? offsetof(accum_runtime_v1, start_reduce_scatter)
                                           : offsetof(accum_runtime_v1, reduce_scatter);
        auto parts = static_cast<int64_t>(reduce->getParentOfType<ProgramOp>().getDevices());
        if (reduce.getIfLast())
          writeIf(last, [&] { writeSum(entry, reduce.getTarget(), parts); });
        else
          writeSum(entry, reduce.getTarget(), parts);
      })
      .Case([&](AllGatherOp gather) { writeGather(gather); })
      .Case([&](FetchOp fetch) {
        check(call(fetch.getStart() ? offsetof(accum_runtime_v1, start_fetch)
                                    : offsetof(accum_runtime_v1, fetch),
                   {pointer(fetch.getTarget()), b.getInt64(fetch.getOffset()), bytes(fetch.getTarget())}));
      })
      .Case([&](StoreOp store) {
        check(call(store.getStart() ? offsetof(accum_runtime_v1, start_store)
                                    : offsetof(accum_runtime_v1, store),
                   {b.getInt64(store.getOffset()), pointer(store.getSource()), bytes(store.getSource())}));
      })
      .Case([&](OutputOp output) {
        check(call(offsetof(accum_runtime_v1, output),
                   {b.getInt32(static_cast<uint32_t>(output.getNumber())), pointer(output.getSource()),
                    bytes(output.getSource())}));
      })
      .Case([&](ZeroOp zero) { writeZero(zero); })
      .Case([&](CopyOp copy) { writeCopy(copy); })
      .Case([&](EndMicroOp end) { endMicro(end.getPhase(), b.CreateSub(steps, b.getInt32(1))); })
      .Case<BufferOp, SectionOp>([](auto) {});
}

llvm::Value *FunctionWriter::stateAddress(BufferOp buffer) {
  llvm::Value *place =
      at(load(ptr, context, offsetof(accum_ctx, state)), buffer.getOffset() + buffer.getSkip());
  if (buffer.getByRank() == 0)
    return place;
  llvm::Value *rank = b.CreateZExt(load(b.getInt32Ty(), context, offsetof(accum_ctx, rank)), b.getInt64Ty());
  return b.CreateGEP(b.getInt8Ty(), place, b.CreateMul(rank, b.getInt64(buffer.getByRank())));
}

llvm::Value *FunctionWriter::address(BufferOp buffer) {
  switch (buffer.getSpace()) {
  case Space::state:
    return stateAddress(buffer);
  case Space::scratch:
    return at(load(ptr, context, offsetof(accum_ctx, scratch)), buffer.getOffset() + buffer.getSkip());
  case Space::input:
    return at(load(ptr, load(ptr, context, offsetof(accum_ctx, inputs)), buffer.getOffset() * sizeof(void *)),
              buffer.getSkip());
  case Space::rng:
    return at(load(ptr, context, offsetof(accum_ctx, rng)), buffer.getOffset() * sizeof(uint64_t));
  case Space::hyper:
    return load(ptr, hyper, offsetof(accum_hyper, values));
  case Space::decay:
    return at(load(ptr, hyper, offsetof(accum_hyper, decay)), buffer.getOffset() * 2 * sizeof(double));
  }
  llvm_unreachable("unknown space");
}

llvm::Value *FunctionWriter::pointer(mlir::Value value) {
  BufferOp buffer = definition(value);
  llvm::Value *begin = address(buffer);
  for (auto [step, round] : llvm::zip(buffer.getStep(), rounds))
    begin = b.CreateGEP(b.getInt8Ty(), begin, b.CreateMul(round, b.getInt64(step)));
  return begin;
}

llvm::Value *FunctionWriter::flag(Update update) {
  llvm::Value *flags = load(ptr, context, offsetof(accum_ctx, flags));
  if (update == Update::accumulate)
    return b.CreateGEP(b.getInt8Ty(), flags, b.CreateZExt(first, b.getInt64Ty()));
  return at(flags, update == Update::write);
}

llvm::Value *FunctionWriter::call(uint64_t offset, llvm::ArrayRef<llvm::Value *> arguments) {
  llvm::SmallVector<llvm::Value *> all = {context};
  all.append(arguments.begin(), arguments.end());
  auto types = llvm::map_to_vector(all, [](llvm::Value *value) { return value->getType(); });
  return b.CreateCall(llvm::FunctionType::get(b.getInt32Ty(), types, false), load(ptr, runtime, offset), all);
}

void FunctionWriter::check(llvm::Value *value, llvm::Value *code) {
  llvm::BasicBlock *next = newBlock("next");
  result->addIncoming(code ? code : value, b.GetInsertBlock());
  b.CreateCondBr(b.CreateIsNotNull(value), exit, next);
  b.SetInsertPoint(next);
}

void FunctionWriter::endMicro(uint64_t phase, llvm::Value *k) {
  check(call(offsetof(accum_runtime_v1, end_micro), {b.getInt32(static_cast<uint32_t>(phase)), k}));
}

/// Of several lengths each has a loop, and the first micro-step of all of them is the first.
void FunctionWriter::writeLoop(ForMicroOp loop) {
  std::optional<int64_t> length = loop.length();
  llvm::Value *count = steps;
  if (length)
    count = load(b.getInt32Ty(), load(ptr, context, offsetof(accum_ctx, micro_steps)),
                 static_cast<uint64_t>(*length) * sizeof(uint32_t));
  if (length == 0)
    b.CreateStore(b.getInt32(0), done);
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = newBlock("head"), *body = newBlock("body"),
                   *end = newBlock("done");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode *k = b.CreatePHI(b.getInt32Ty(), 2, "k");
  k->addIncoming(b.getInt32(loop.getRest() ? 1 : 0), before);
  b.CreateCondBr(b.CreateICmpULT(k, count), body, end);
  b.SetInsertPoint(body);
  llvm::Value *phase = b.getInt32(static_cast<uint32_t>(loop.getPhase()));
  check(call(offsetof(accum_runtime_v1, begin_micro), {phase, k, row, rows}));
  llvm::Value *next = b.CreateAdd(k, b.getInt32(1));
  llvm::Value *position = k;
  if (length)
    position = b.CreateLoad(b.getInt32Ty(), done);
  llvm::Value *after = length ? b.CreateAdd(position, b.getInt32(1)) : next;
  first = b.CreateIsNull(position, "first");
  last = b.CreateICmpEQ(after, steps, "last");
  if (length)
    b.CreateStore(after, done);
  writeBlock(loop.getBody().front());
  first = last = nullptr;
  if (loop.addsGradients()) { // the last one is ended after the update
    llvm::BasicBlock *more = newBlock("more");
    b.CreateCondBr(b.CreateICmpULT(after, steps), more, end);
    b.SetInsertPoint(more);
  }
  endMicro(loop.getPhase(), k);
  k->addIncoming(next, b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(end);
}

void FunctionWriter::writeSlices(ForSlicesOp loop) {
  llvm::BasicBlock *before = b.GetInsertBlock(), *body = newBlock("slice"), *done = newBlock("sliced");
  b.CreateBr(body);
  b.SetInsertPoint(body);
  llvm::PHINode *round = b.CreatePHI(b.getInt64Ty(), 2, loop.getName());
  round->addIncoming(b.getInt64(0), before);
  rounds.push_back(round);
  llvm::Value *outer = first;
  first = b.CreateAnd(first, b.CreateIsNull(round));
  writeBlock(loop.getBody().front());
  first = outer;
  rounds.pop_back();
  llvm::Value *next = b.CreateAdd(round, b.getInt64(1));
  round->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpULT(next, b.getInt64(loop.getCount())), body, done);
  b.SetInsertPoint(done);
}

void FunctionWriter::writeLaunch(LaunchOp launch) {
  llvm::SmallVector<llvm::Value *> values;
  for (mlir::Value argument : launch.getArgs())
    values.push_back(pointer(argument));
  if (launch.getUpdate())
    values.push_back(flag(*launch.getUpdate()));
  for (auto [i, value] : llvm::enumerate(values))
    b.CreateStore(value, at(arguments, i * sizeof(void *)));
  llvm::Value *index = b.getInt32(static_cast<uint32_t>(launch.getIndex()));
  check(call(offsetof(accum_runtime_v1, launch), {index, arguments}), codeOf(launch.getId()));
}

template <typename Words>
llvm::Value *FunctionWriter::copyOf(const Words &words, llvm::Value *to, const char *name) {
  static_assert(sizeof(words) % 8 == 0);
  llvm::StringRef bytes(reinterpret_cast<const char *>(&words), sizeof(words));
  auto *initial = llvm::ConstantDataArray::getString(function->getContext(), bytes, /*AddNull=*/false);
  auto *global = new llvm::GlobalVariable(*function->getParent(), initial->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, initial, name);
  global->setAlignment(llvm::Align(8));
  b.CreateMemCpy(to, llvm::Align(8), global, llvm::Align(8), sizeof(words));
  return to;
}

void FunctionWriter::writeAttention(AttentionOp attention) {
  copyOf(describeAttention(attention), attentionWords, "attention");
  for (auto [i, name] : llvm::enumerate(attention.names()))
    b.CreateStore(at(pointer(attention.getArgs()[i]), byteOffsetOf(attention, i)),
                  at(attentionWords, offsetOfOperand(name) + offsetof(accum_strided, data)));
  check(call(offsetof(accum_runtime_v1, attention), {attentionWords}), codeOf(attention.getId()));
}

void FunctionWriter::writeGemm(GemmOp gemm) {
  copyOf(describeGemm(gemm), gemmWords, "gemm");
  b.CreateStore(pointer(gemm.getA()), at(gemmWords, offsetof(accum_gemm, a)));
  b.CreateStore(pointer(gemm.getB()), at(gemmWords, offsetof(accum_gemm, b)));
  b.CreateStore(pointer(gemm.getC()), at(gemmWords, offsetof(accum_gemm, c)));
  if (gemm.getBias())
    b.CreateStore(pointer(gemm.getBias()), at(gemmWords, offsetof(accum_gemm, bias)));
  llvm::Value *zero = llvm::ConstantFP::get(b.getFloatTy(), 0),
              *one = llvm::ConstantFP::get(b.getFloatTy(), 1);
  llvm::Value *beta = gemm.getUpdate() == Update::write ? zero : one;
  if (gemm.getUpdate() == Update::accumulate)
    beta = b.CreateSelect(first, zero, one);
  check(call(offsetof(accum_runtime_v1, gemm), {gemmWords, beta}), codeOf(gemm.getId()));
}

void FunctionWriter::writeSum(uint64_t entry, mlir::Value buffer, int64_t parts) {
  BufferOp target = definition(buffer);
  llvm::Value *dtype = b.getInt32(*dtypeOf(target.getTensor().getElementType()));
  llvm::Value *count = b.getInt64(target.getNumElements() / parts);
  check(call(entry, {pointer(target), count, dtype}));
}

void FunctionWriter::writeInspect(InspectGradientsOp inspect) {
  BufferOp gradients = definition(inspect.getGradients());
  check(call(offsetof(accum_runtime_v1, inspect_gradients),
             {pointer(gradients), b.getInt64(gradients.getNumElements()),
              b.getInt32(*dtypeOf(gradients.getTensor().getElementType())), b.getInt32(inspect.getPart()),
              b.getInt32(inspect.getLast())}));
}

void FunctionWriter::writeGather(AllGatherOp gather) {
  uint64_t entry = gather.getStart() ? offsetof(accum_runtime_v1, start_all_gather)
                                     : offsetof(accum_runtime_v1, all_gather);
  check(call(entry, {pointer(gather.getTarget()), pointer(gather.getSource()), bytes(gather.getSource())}));
}

void FunctionWriter::writeIf(llvm::Value *condition, llvm::function_ref<void()> body) {
  llvm::BasicBlock *inside = newBlock("inside"), *after = newBlock("after");
  b.CreateCondBr(condition, inside, after);
  b.SetInsertPoint(inside);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void FunctionWriter::writeZero(ZeroOp zero) {
  auto clear = [&] {
    check(call(offsetof(accum_runtime_v1, zero), {pointer(zero.getTarget()), bytes(zero.getTarget())}));
  };
  if (zero.getIfFirst())
    writeIf(first, clear);
  else
    clear();
}

void FunctionWriter::writeCopy(CopyOp copy) {
  llvm::Value *bytes = b.getInt64(definition(copy.getSource()).getBytes());
  check(
      call(offsetof(accum_runtime_v1, copy), {pointer(copy.getTarget()), pointer(copy.getSource()), bytes}));
}

static llvm::Function *addFunction(llvm::Module &module, const char *name, bool takesHyper) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::SmallVector<llvm::Type *> types = {b.getPtrTy(), b.getInt32Ty()};
  if (takesHyper)
    types.push_back(b.getPtrTy());
  auto *type = llvm::FunctionType::get(b.getInt32Ty(), types, false);
  return llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
}

std::unique_ptr<llvm::Module> programModule(ProgramOp program, llvm::LLVMContext &context) {
  auto module = std::make_unique<llvm::Module>("program", context);
  llvm::Function *step = addFunction(*module, "step", /*takesHyper=*/true);
  llvm::Function *eval = addFunction(*module, "eval", /*takesHyper=*/false);
  FunctionWriter(step, program.getStep()).write();
  FunctionWriter(eval, program.getEval()).write();
  llvm::Function *predict = nullptr;
  if (!program.getPredict().empty()) {
    predict = addFunction(*module, "predict", /*takesHyper=*/false);
    FunctionWriter(predict, program.getPredict()).write();
  }
  addProgramTable(*module, program, {step, eval, predict});
  assert(!llvm::verifyModule(*module, &llvm::errs()));
  return module;
}

} // namespace accum::emit
