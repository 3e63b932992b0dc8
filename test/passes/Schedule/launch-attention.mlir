// An attention command becomes a launch; a matrix product stays the library's.
// RUN: accum-opt %s --accum-launch-attention | FileCheck %s

#cost = #train.poly<0, 0>
#rows = #nn.batched<0>

func.func private @attention(%q: tensor<1x1x2x4xf32, #rows>) -> (tensor<1x1x2x4xf32, #rows>, tensor<1x1x2xf32, #rows>) {
  %y, %lse = nn.attention(%q, %q, %q) <infinite> {scale = 1.0 : f64} : (tensor<1x1x2x4xf32, #rows>, tensor<1x1x2x4xf32, #rows>, tensor<1x1x2x4xf32, #rows>) -> (tensor<1x1x2x4xf32, #rows>, tensor<1x1x2xf32, #rows>)
  return %y, %lse : tensor<1x1x2x4xf32, #rows>, tensor<1x1x2xf32, #rows>
}
func.func private @gemm(%x: tensor<1x4xf32, #rows>, %y: tensor<4x4xf32>) -> tensor<1x4xf32, #rows> {
  %0 = nn.contract "ik,kj->ij" (%x, %y) : (tensor<1x4xf32, #rows>, tensor<4x4xf32>) -> tensor<1x4xf32, #rows>
  return %0 : tensor<1x4xf32, #rows>
}
// CHECK-LABEL: @calls
func.func @calls(%q: tensor<1x1x2x4xf32, #rows>, %x: tensor<1x4xf32, #rows>, %y: tensor<4x4xf32>) {
  // CHECK: train.command @attention({{.*}}) {bytes
  // CHECK-NOT: library = "attention"
  %a:2 = train.command @attention(%q) {id = 0, library = "attention", flops = #cost, bytes = #cost} : (tensor<1x1x2x4xf32, #rows>) -> (tensor<1x1x2x4xf32, #rows>, tensor<1x1x2xf32, #rows>)
  // CHECK: train.command @gemm({{.*}}library = "gemm"
  %b = train.command @gemm(%x, %y) {id = 1, library = "gemm", flops = #cost, bytes = #cost} : (tensor<1x4xf32, #rows>, tensor<4x4xf32>) -> tensor<1x4xf32, #rows>
  return
}
