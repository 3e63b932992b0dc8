// SPDX-License-Identifier: Apache-2.0
// Passes of the phase `codegen`: kernels to LLVM.
#ifndef ACCUM_CODEGEN_PASSES
#define ACCUM_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def ExpandKernels : Pass<"accum-expand-kernels", "::mlir::func::FuncOp"> {
  let summary = "write norms, softmax and cross-entropy with elementwise ops and reductions";
  let description = [{
    Also makes loops flat: where all tensors of a kernel have one shape, or one element, their axes are merged.

    Requires: a kernel on plain static tensor types; functions without `accum.kernel` are left alone.
    Ensures: the same function of memory, without `nn.softmax`, `nn.layer_norm`, `nn.rms_norm`, `nn.cross_entropy`
    and `nn.cross_entropy_grad`.

    ```mlir
    %y = nn.softmax (%x) {axis = 1 : i64, log} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    becomes
    ```mlir
    %m = nn.reduce <max> (%x) {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    %c = nn.reshape %m : tensor<4xf32> -> tensor<4x1xf32>
    %d = nn.elementwise <sub> (%x, %c) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %e = nn.elementwise <exp> (%d) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %s = nn.reduce <sum> (%e) {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
    %l = nn.elementwise <log> (%s) : (tensor<4xf32>) -> tensor<4xf32>
    ...
    ```
  }];
  let dependentDialects = ["::accum::nn::NNDialect"];
}

def KernelsToLoops : Pass<"accum-kernels-to-loops", "::mlir::ModuleOp"> {
  let summary = "kernels on tensors to loops over pointers";
  let description = [{
    Each `func.func` with `accum.kernel` becomes an `llvm.func @kernel.NAME(ptr args, i64 begin, i64 end)` of scf,
    arith, math, vector and llvm ops, whose attribute `accum.entry = [number, n, chunks, arguments]` is its line in
    the kernel table (accum_program.h). `args` are the operands, the results and, where the kernel has `accumulate`,
    the flag `first`. Nothing is allocated: an intermediate value exists for as long as its loop's body.

    Requires: after accum-expand-kernels; plain static tensor types.
    Ensures: no function with `accum.kernel` is left. An op that has no code is an error, [kernel-op].
  }];
  let options = [Option<"lanes", "lanes", "int64_t", /*default=*/"1",
                        "number of f32 in a vector of the machine; 1: scalar code, one chunk (the reference)">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def LowerMath : Pass<"accum-lower-math", "::mlir::ModuleOp"> {
  let summary = "functions of f32 as polynomials, bf16 as integer arithmetic";
  let description = [{
    exp, log, tanh, erf, sin and the like on f32, scalars and vectors, become arithmetic, so that no vector is taken
    apart to call libm. f64 is left alone. Conversions to and from bf16 become shifts, with correct rounding.
  }];
  let options = [Option<"polynomials", "polynomials", "bool", /*default=*/"true",
                        "functions of f32 too; without it they are libm's">,
                 Option<"nvptx", "nvptx", "bool", /*default=*/"false",
                        "by NVPTX's instructions, where it has one">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def KernelsToThreads : Pass<"accum-kernels-to-threads", "::mlir::ModuleOp"> {
  let summary = "kernels on tensors to what a GPU's thread runs";
  let description = [{
    Each `func.func` with `accum.kernel` becomes an `llvm.func ptx_kernelcc`: one pointer per operand, result and,
    where the kernel has `accumulate`, the flag. Its attribute `accum.entry = [number, blocks, threads in a block,
    arguments]` is its line in the manifest. Elements are scalars of a thread; rows that reduce over themselves are
    shared by a warp or a block, sums over columns by threads behind each other.

    Requires: after accum-expand-kernels; plain static tensor types.
    Ensures: no function with `accum.kernel` is left. An op that has no code is an error, [kernel-op].
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def RefuseLibraryMath : Pass<"accum-refuse-library-math", "::mlir::ModuleOp"> {
  let summary = "names the functions that a GPU kernel would have to call";
  let description = [{
    Requires: after accum-lower-math. Functions of f64, pow and float remainders are left then, which have no
    instruction; each is an error, [unsupported].
  }];
}

#endif
