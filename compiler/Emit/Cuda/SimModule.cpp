// SPDX-License-Identifier: Apache-2.0
// NVVM intrinsics -> hooks.
#include "compiler/Emit/Cuda/SimModule.h"
#include "runtime/sim/accum_sim.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <cstddef>

using namespace llvm;

namespace accum::emit {
namespace {

constexpr unsigned kSharedSpace = 3;

class SimWriter {
public:
  SimWriter(Module &module, const CudaKernels &kernels)
      : module(module), kernels(kernels), context(module.getContext()),
        pointer(PointerType::get(context, 0)) {}

  Error write();

private:
  uint64_t placeShared(Function &function, uint64_t askedBytes);
  Error instrument(Function &function);
  Error replaceIntrinsic(IntrinsicInst &call);
  Error roundToBf16(IntrinsicInst &call);
  void replaceMatrix(IntrinsicInst &call, uint32_t kind);
  void replaceCopy(IntrinsicInst &call, uint32_t bytes);
  void announce(Instruction &access, Value *address, Value *bytes, Align alignment, size_t hook);
  void announceRange(AnyMemIntrinsic &access);
  CallInst *callHook(IRBuilder<> &b, size_t offset, Type *result, ArrayRef<Value *> arguments);
  void replace(Instruction &old, Value *value) {
    old.replaceAllUsesWith(value);
    old.eraseFromParent();
  }
  Function *threadOf(Function &kernel);
  Constant *entryOf(const CudaKernel &kernel, Function *thread, uint64_t sharedBytes, bool meets);
  void addTable(ArrayRef<Constant *> entries);
  Constant *word(uint64_t value) { return ConstantInt::get(Type::getInt32Ty(context), value); }
  Constant *longWord(uint64_t value) { return ConstantInt::get(Type::getInt64Ty(context), value); }
  GlobalVariable *constant(Constant *value, const char *name) {
    return new GlobalVariable(module, value->getType(), true, GlobalValue::PrivateLinkage, value, name);
  }

  Module &module;
  const CudaKernels &kernels;
  LLVMContext &context;
  PointerType *pointer;
  GlobalVariable *hooks = nullptr;
  uint32_t sites = 0; ///< barriers, shuffles and matrix instructions of the kernel so far
};

/// Only memory that other threads or kernels see is checked.
bool isPrivate(const Value *address) {
  const Value *object = getUnderlyingObject(address);
  auto *global = dyn_cast<GlobalVariable>(object);
  return isa<AllocaInst>(object) || (global && global->isConstant());
}

/// Shared arrays get their places in the block's memory, whose address is a hook's. One without a size has
/// what the launch asks for.
uint64_t SimWriter::placeShared(Function &function, uint64_t askedBytes) {
  uint64_t bytes = 0;
  for (GlobalVariable &global : make_early_inc_range(module.globals())) {
    if (global.getAddressSpace() != kSharedSpace ||
        !global.getName().starts_with((function.getName() + "$").str()))
      continue;
    convertUsersOfConstantsToInstructions(&global);
    IRBuilder<> b(&*function.getEntryBlock().getFirstInsertionPt());
    Value *base = callHook(b, offsetof(accum_sim_hooks, shared), pointer, {});
    base = b.CreateConstGEP1_64(b.getInt8Ty(), base, bytes);
    global.replaceAllUsesWith(b.CreateAddrSpaceCast(base, global.getType()));
    uint64_t own =
        global.isDeclaration() ? askedBytes : module.getDataLayout().getTypeAllocSize(global.getValueType());
    bytes += alignTo(own, 16);
    global.eraseFromParent();
  }
  return bytes;
}

CallInst *SimWriter::callHook(IRBuilder<> &b, size_t offset, Type *result, ArrayRef<Value *> arguments) {
  SmallVector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  Value *table = b.CreateLoad(pointer, hooks);
  Value *hook = b.CreateLoad(pointer, b.CreateConstGEP1_64(b.getInt8Ty(), table, offset));
  return b.CreateCall(FunctionType::get(result, types, false), hook, arguments);
}

void SimWriter::announce(Instruction &access, Value *address, Value *bytes, Align alignment, size_t hook) {
  if (isPrivate(address))
    return;
  IRBuilder<> b(&access);
  auto *argument = dyn_cast<Argument>(getUnderlyingObject(address));
  callHook(b, hook, b.getVoidTy(),
           {b.CreateAddrSpaceCast(address, pointer), b.CreateZExt(bytes, b.getInt64Ty()),
            word(argument ? argument->getArgNo() : ACCUM_SIM_ANY),
            word(static_cast<uint32_t>(alignment.value()))});
}

void SimWriter::announceRange(AnyMemIntrinsic &access) {
  if (auto *transfer = dyn_cast<AnyMemTransferInst>(&access))
    announce(access, transfer->getRawSource(), transfer->getLength(), Align(),
             offsetof(accum_sim_hooks, load));
  announce(access, access.getRawDest(), access.getLength(), Align(), offsetof(accum_sim_hooks, store));
}

/// What `cvt.rn.bf16.f32` does, as 16 bits: half of the last bit that stays, less one where that bit is 0,
/// carries into it. NaN is one pattern.
static Value *bf16Bits(IRBuilder<> &b, Value *value) {
  Value *bits = b.CreateBitCast(value, b.getInt32Ty());
  Value *last = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  Value *rounded = b.CreateAdd(b.CreateAdd(bits, b.getInt32(0x7fff)), last);
  Value *whole = b.CreateSelect(b.CreateFCmpUNO(value, value), b.getInt32(0x7fffffff), rounded);
  return b.CreateTrunc(b.CreateLShr(whole, 16), b.getInt16Ty());
}

/// What `cvt.rna.tf32.f32` does: half of the last bit that stays carries into it, and the rest is dropped.
static Value *tf32Bits(IRBuilder<> &b, Value *value) {
  Value *bits = b.CreateBitCast(value, b.getInt32Ty());
  Value *rounded = b.CreateAnd(b.CreateAdd(bits, b.getInt32(0x1000)), b.getInt32(0xffffe000));
  return b.CreateSelect(b.CreateFCmpUNO(value, value), b.getInt32(0x7fffffff), rounded);
}

/// Processors would round a bf16 that outlives a block once more, by a library.
Error SimWriter::roundToBf16(IntrinsicInst &call) {
  IRBuilder<> b(&call);
  Value *bits = bf16Bits(b, call.getArgOperand(call.arg_size() - 1));
  if (call.arg_size() == 2) { // the first of two is the upper half
    Value *halves = PoisonValue::get(FixedVectorType::get(b.getInt16Ty(), 2));
    halves = b.CreateInsertElement(halves, bits, uint64_t{0});
    bits = b.CreateInsertElement(halves, bf16Bits(b, call.getArgOperand(0)), uint64_t{1});
  }
  for (Use &use : make_early_inc_range(call.uses())) {
    if (!isa<StoreInst, BitCastInst>(use.getUser()))
      return createStringError("the simulator stores bf16 and does nothing else with it: " +
                               Twine(cast<Instruction>(use.getUser())->getOpcodeName()));
    use.set(bits);
  }
  call.eraseFromParent();
  return Error::success();
}

/// Operands and results go through words of the thread.
void SimWriter::replaceMatrix(IntrinsicInst &call, uint32_t kind) {
  BasicBlock &entry = call.getFunction()->getEntryBlock();
  IRBuilder<> b(&entry, entry.begin());
  Value *words = b.CreateAlloca(ArrayType::get(b.getInt32Ty(), ACCUM_SIM_MATRIX_WORDS));
  b.SetInsertPoint(&call);
  auto slot = [&](uint64_t number) { return b.CreateConstGEP1_64(b.getInt32Ty(), words, number); };
  if (kind == ACCUM_SIM_MULTIPLY || kind == ACCUM_SIM_MULTIPLY_TF32) {
    for (auto [number, argument] : enumerate(call.args()))
      b.CreateStore(argument, slot(number));
  } else {
    Value *address = call.getArgOperand(0);
    announce(call, address, b.getInt64(16), Align(16), offsetof(accum_sim_hooks, load));
    b.CreateStore(b.CreatePtrToInt(b.CreateAddrSpaceCast(address, pointer), b.getInt64Ty()), words);
  }
  callHook(b, offsetof(accum_sim_hooks, matrix), b.getVoidTy(), {word(kind), words, word(sites++)});
  auto *type = cast<StructType>(call.getType());
  Value *result = PoisonValue::get(type);
  for (auto [number, part] : enumerate(type->elements()))
    result = b.CreateInsertValue(result, b.CreateLoad(part, slot(number)), static_cast<unsigned>(number));
  replace(call, result);
}

/// From memory to shared memory; the last argument says how many bytes there are, the rest is zeros.
void SimWriter::replaceCopy(IntrinsicInst &call, uint32_t bytes) {
  IRBuilder<> b(&call);
  auto *argument = dyn_cast<Argument>(getUnderlyingObject(call.getArgOperand(1)));
  callHook(b, offsetof(accum_sim_hooks, start_copy), b.getVoidTy(),
           {b.CreateAddrSpaceCast(call.getArgOperand(0), pointer),
            b.CreateAddrSpaceCast(call.getArgOperand(1), pointer), word(bytes), call.getArgOperand(2),
            word(argument ? argument->getArgNo() : ACCUM_SIM_ANY)});
  call.eraseFromParent();
}

Error SimWriter::replaceIntrinsic(IntrinsicInst &call) {
  IRBuilder<> b(&call);
  Type *i32 = b.getInt32Ty();
  switch (call.getIntrinsicID()) {
  case Intrinsic::nvvm_read_ptx_sreg_tid_x:
    replace(call, callHook(b, offsetof(accum_sim_hooks, special), i32, {word(ACCUM_SIM_THREAD)}));
    return Error::success();
  case Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
    replace(call, callHook(b, offsetof(accum_sim_hooks, special), i32, {word(ACCUM_SIM_BLOCK)}));
    return Error::success();
  case Intrinsic::nvvm_barrier_cta_sync_aligned_all:
    callHook(b, offsetof(accum_sim_hooks, barrier), b.getVoidTy(), {word(sites++)});
    call.eraseFromParent();
    return Error::success();
  case Intrinsic::nvvm_shfl_sync_bfly_i32:
    replace(call,
            callHook(b, offsetof(accum_sim_hooks, exchange), i32,
                     {call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(2), word(sites++)}));
    return Error::success();
  case Intrinsic::nvvm_f2bf16_rn:
  case Intrinsic::nvvm_ff2bf16x2_rn:
    return roundToBf16(call);
  case Intrinsic::nvvm_cp_async_cg_shared_global_16_s:
    replaceCopy(call, 16);
    return Error::success();
  case Intrinsic::nvvm_cp_async_ca_shared_global_4_s:
    replaceCopy(call, 4);
    return Error::success();
  case Intrinsic::nvvm_cp_async_wait_all:
    callHook(b, offsetof(accum_sim_hooks, finish_copies), b.getVoidTy(), {});
    call.eraseFromParent();
    return Error::success();
  case Intrinsic::nvvm_ex2_approx_ftz:
    replace(call, callHook(b, offsetof(accum_sim_hooks, exp2), b.getFloatTy(), {call.getArgOperand(0)}));
    return Error::success();
  case Intrinsic::nvvm_rcp_approx_ftz_f:
    replace(call, b.CreateFDiv(ConstantFP::get(b.getFloatTy(), 1), call.getArgOperand(0)));
    return Error::success();
  case Intrinsic::nvvm_f2tf32_rna:
    replace(call, tf32Bits(b, call.getArgOperand(0)));
    return Error::success();
  case Intrinsic::nvvm_mma_m16n8k16_row_col_bf16:
    replaceMatrix(call, ACCUM_SIM_MULTIPLY);
    return Error::success();
  case Intrinsic::nvvm_mma_m16n8k8_row_col_tf32:
    replaceMatrix(call, ACCUM_SIM_MULTIPLY_TF32);
    return Error::success();
  case Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16:
    replaceMatrix(call, ACCUM_SIM_LOAD);
    return Error::success();
  case Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16:
    replaceMatrix(call, ACCUM_SIM_LOAD_TRANSPOSED);
    return Error::success();
  default:
    if (!call.getCalledFunction()->getName().starts_with("llvm.nvvm."))
      return Error::success();
    return createStringError("the simulator has no " + call.getCalledFunction()->getName());
  }
}

/// Where stores were merged, a bf16 comes from one of several blocks: as bits.
static void carryBits(Function &function) {
  SmallVector<PHINode *> work;
  for (Instruction &instruction : instructions(function))
    if (auto *phi = dyn_cast<PHINode>(&instruction); phi && phi->getType()->getScalarType()->isBFloatTy())
      work.push_back(phi);
  for (PHINode *phi : work) {
    IRBuilder<> b(phi);
    Type *bits = b.getIntNTy(static_cast<unsigned>(phi->getType()->getPrimitiveSizeInBits()));
    PHINode *carried = b.CreatePHI(bits, phi->getNumIncomingValues());
    for (auto [value, block] : zip(phi->incoming_values(), phi->blocks())) {
      b.SetInsertPoint(block->getTerminator());
      carried->addIncoming(b.CreateBitCast(value, bits), block);
    }
    b.SetInsertPoint(phi->getParent(), phi->getParent()->getFirstInsertionPt());
    phi->replaceAllUsesWith(b.CreateBitCast(carried, phi->getType()));
    phi->eraseFromParent();
  }
}

Error SimWriter::instrument(Function &function) {
  sites = 0;
  carryBits(function);
  SmallVector<Instruction *> work;
  for (Instruction &instruction : instructions(function))
    work.push_back(&instruction);
  const DataLayout &layout = module.getDataLayout();
  auto size = [&](Type *type) { return longWord(layout.getTypeStoreSize(type)); };
  for (Instruction *instruction : work) {
    if (auto *load = dyn_cast<LoadInst>(instruction))
      announce(*load, load->getPointerOperand(), size(load->getType()), load->getAlign(),
               offsetof(accum_sim_hooks, load));
    else if (auto *store = dyn_cast<StoreInst>(instruction))
      announce(*store, store->getPointerOperand(), size(store->getValueOperand()->getType()),
               store->getAlign(), offsetof(accum_sim_hooks, store));
    else if (auto *range = dyn_cast<AnyMemIntrinsic>(instruction))
      announceRange(*range);
    else if (auto *call = dyn_cast<IntrinsicInst>(instruction))
      if (Error error = replaceIntrinsic(*call))
        return error;
  }
  return Error::success();
}

/// void thread(void *const *args)
Function *SimWriter::threadOf(Function &kernel) {
  auto *type = FunctionType::get(Type::getVoidTy(context), {pointer}, false);
  auto *thread = Function::Create(type, GlobalValue::InternalLinkage, "thread." + kernel.getName(), module);
  IRBuilder<> b(BasicBlock::Create(context, "", thread));
  SmallVector<Value *> arguments;
  for (const Argument &argument : kernel.args()) {
    Value *slot = b.CreateConstGEP1_64(pointer, thread->getArg(0), argument.getArgNo());
    arguments.push_back(b.CreateLoad(pointer, slot));
  }
  b.CreateCall(&kernel, arguments);
  b.CreateRetVoid();
  return thread;
}

Constant *SimWriter::entryOf(const CudaKernel &kernel, Function *thread, uint64_t sharedBytes, bool meets) {
  static_assert(offsetof(accum_sim_kernel, num_operands) == 24 && sizeof(accum_sim_kernel) == 48,
                "as written below");
  Constant *operands = constantOperands(module, kernel.operands);
  Constant *name = constant(ConstantDataArray::getString(context, kernel.spec.name), "name");
  return ConstantStruct::getAnon({name, thread, operands, word(kernel.operands.size()),
                                  word(kernel.spec.grid[0]), word(kernel.spec.block[0]), word(sharedBytes),
                                  word(meets), word(0)});
}

void SimWriter::addTable(ArrayRef<Constant *> entries) {
  static_assert(offsetof(accum_sim_v1, kernels) == 16 && sizeof(accum_sim_v1) == 32, "as written below");
  Constant *kernelTable = Constant::getNullValue(pointer);
  if (!entries.empty())
    kernelTable = constant(
        ConstantArray::get(ArrayType::get(entries.front()->getType(), entries.size()), entries), "kernels");
  Constant *fields[] = {
      word(ACCUM_SIM_VERSION), word(sizeof(accum_sim_v1)), word(entries.size()), word(0), kernelTable, hooks};
  auto *table = constant(ConstantStruct::getAnon(fields), "table");
  auto *function =
      Function::Create(FunctionType::get(pointer, false), GlobalValue::ExternalLinkage, "accum_sim", module);
  IRBuilder<>(BasicBlock::Create(context, "", function)).CreateRet(table);
}

/// What only a GPU's code generator reads.
void makeOrdinary(Function &function) {
  function.setCallingConv(CallingConv::C);
  function.setLinkage(GlobalValue::InternalLinkage);
  function.setAttributes(AttributeList());
}

Error SimWriter::write() {
  hooks = new GlobalVariable(module, pointer, false, GlobalValue::InternalLinkage,
                             Constant::getNullValue(pointer), "hooks");
  std::vector<Constant *> entries;
  for (const CudaKernel &kernel : kernels.kernels) {
    Function *function = module.getFunction(kernel.spec.symbol);
    makeOrdinary(*function);
    if (Error error = instrument(*function))
      return error;
    uint64_t sharedBytes = placeShared(*function, kernel.spec.sharedBytes);
    entries.push_back(entryOf(kernel, threadOf(*function), sharedBytes, sites > 0));
  }
  addTable(entries);
  return Error::success();
}

} // namespace

llvm::Expected<std::unique_ptr<Module>> simModule(const CudaKernels &kernels) {
  std::unique_ptr<Module> module = CloneModule(*kernels.code);
  // Metadata and data layout are NVPTX's; whoever compiles the module sets its own.
  module->setTargetTriple(Triple());
  while (!module->named_metadata_empty())
    module->eraseNamedMetadata(&*module->named_metadata_begin());
  if (Error error = SimWriter(*module, kernels).write())
    return error;
  return module;
}

} // namespace accum::emit
