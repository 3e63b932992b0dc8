// What a GPU has an instruction for is left to it.
// RUN: accum-opt %s --pass-pipeline='builtin.module(func.func(accum-expand-kernels),accum-kernels-to-threads,cse,accum-lower-math{nvptx=true})' | FileCheck %s

// One power of two and one reciprocal; two roundings to bf16 in an instruction.
// CHECK-LABEL: llvm.func ptx_kernelcc @k0_gelu
// CHECK-COUNT-8: "llvm.nvvm.ex2.approx.ftz"
// CHECK-COUNT-8: "llvm.nvvm.rcp.approx.ftz.f"
// CHECK-NOT: arith.divf
// CHECK-COUNT-4: "llvm.nvvm.ff2bf16x2.rn"
// CHECK-NOT: llvm.nvvm
// CHECK: llvm.return
func.func private @gelu(%x: tensor<4096xbf16>) -> tensor<4096xbf16> attributes {accum.kernel = 0 : i64} {
  %y = nn.elementwise <gelu_tanh> (%x) : (tensor<4096xbf16>) -> tensor<4096xbf16>
  return %y : tensor<4096xbf16>
}

// CHECK-LABEL: llvm.func ptx_kernelcc @k5_gelu_exact
// CHECK: "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: "llvm.nvvm.ex2.approx.ftz"
// CHECK-NOT: arith.select
// CHECK: llvm.return
func.func private @gelu_exact(%x: tensor<3xf32>) -> tensor<3xf32> attributes {accum.kernel = 5 : i64} {
  %y = nn.elementwise <gelu> (%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// Alone, tanh keeps its digits near zero.
// CHECK-LABEL: llvm.func ptx_kernelcc @k1_tanh
// CHECK: "llvm.nvvm.ex2.approx.ftz"
// CHECK: math.copysign
// CHECK: math.fma
// CHECK: arith.select
// CHECK: llvm.return
func.func private @tanh(%x: tensor<3xf32>) -> tensor<3xf32> attributes {accum.kernel = 1 : i64} {
  %y = nn.elementwise <tanh> (%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: llvm.func ptx_kernelcc @k2_extremes
// CHECK: arith.maximumf
// CHECK: arith.minimumf
// CHECK-NOT: arith.select
// CHECK: llvm.return
func.func private @extremes(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> attributes {accum.kernel = 2 : i64} {
  %a = nn.elementwise <max> (%x, %y) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %b = nn.elementwise <min> (%a, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %b : tensor<3xf32>
}

// Divisions by what is not one's divisor are divisions.
// CHECK-LABEL: llvm.func ptx_kernelcc @k3_quotients
// CHECK: arith.divf
// CHECK: "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: llvm.return
func.func private @quotients(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> attributes {accum.kernel = 3 : i64} {
  %a = nn.elementwise <div> (%x, %y) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %b = nn.elementwise <sigmoid> (%a) : (tensor<3xf32>) -> tensor<3xf32>
  return %b : tensor<3xf32>
}

// A long sum: eight terms in f32, then one in f64.
// CHECK-LABEL: llvm.func ptx_kernelcc @k4_long
// CHECK: scf.for {{.*}} -> (f64)
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.extf {{.*}} : f32 to f64
// CHECK: arith.addf {{.*}} : f64
func.func private @long(%x: tensor<1048576x2xf32>) -> tensor<2xf32> attributes {accum.kernel = 4 : i64} {
  %y = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<1048576x2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
