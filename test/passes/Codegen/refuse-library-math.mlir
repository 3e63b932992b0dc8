// RUN: accum-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(accum-expand-kernels),accum-kernels-to-threads,accum-lower-math,accum-refuse-library-math)' | FileCheck %s

// expected-error @below {{kernel function math.exp of 'f64' is not built for GPUs [unsupported]}}
func.func private @f64(%x: tensor<3xf64>) -> tensor<3xf64> attributes {accum.kernel = 0 : i64} {
  %y = nn.elementwise <exp> (%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

// -----

// expected-error @below {{kernel function arith.remf of 'f32' is not built for GPUs [unsupported]}}
func.func private @remainder(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> attributes {accum.kernel = 0 : i64} {
  %z = nn.elementwise <mod> (%x, %y) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %z : tensor<3xf32>
}

// -----

// CHECK: llvm.func ptx_kernelcc @k0_good
// CHECK-NOT: math.{{tanh|erf|sin|log1p|exp}}
func.func private @good(%x: tensor<4xf32>) -> tensor<4xf32> attributes {accum.kernel = 0 : i64} {
  %a = nn.elementwise <sqrt> (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = nn.elementwise <erf> (%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = nn.elementwise <tanh> (%b) : (tensor<4xf32>) -> tensor<4xf32>
  %d = nn.elementwise <sin> (%c) : (tensor<4xf32>) -> tensor<4xf32>
  %e = nn.elementwise <softplus> (%d) : (tensor<4xf32>) -> tensor<4xf32>
  return %e : tensor<4xf32>
}
