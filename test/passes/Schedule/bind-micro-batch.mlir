// m = 4: sample axes are multiplied, what counts slab rows too, everything else stays.
// RUN: accum-opt %s --accum-bind-micro-batch | FileCheck %s

#rows = #nn.batched<0>
#heads = #nn.batched<0, outer = 3>
#same = #nn.replicated
#sum = #nn.partial<sum>
#cost = #train.poly<0, 0>

module attributes {train.plan = #train.plan<m = 4, devices = 1, state = 0, scratch = 0, align = 64, slots = {}>} {

// CHECK-LABEL: func.func private @shapes(%arg0: tensor<24x5xf32>, %arg1: tensor<5xf32>) -> tensor<8x5xf32>
func.func private @shapes(%x: tensor<6x5xf32, #heads>, %w: tensor<5xf32, #same>) -> tensor<2x5xf32, #rows> {
  // The second of three blocks of two rows per sample.
  // CHECK: nn.slice %arg0 at [8, 0] by [1, 1] : tensor<24x5xf32> -> tensor<8x5xf32>
  %0 = nn.slice %x at [2, 0] by [1, 1] : tensor<6x5xf32, #heads> -> tensor<2x5xf32, #rows>
  // A slice on another axis keeps its start.
  // CHECK: nn.slice %{{.*}} at [0, 1] by [1, 1] : tensor<8x5xf32> -> tensor<8x4xf32>
  %1 = nn.slice %0 at [0, 1] by [1, 1] : tensor<2x5xf32, #rows> -> tensor<2x4xf32, #rows>
  // CHECK: nn.constant {value = dense<2.000000e+00> : tensor<8x5xf32>} : tensor<8x5xf32>
  %2 = nn.constant {value = dense<2.0> : tensor<2x5xf32>} : tensor<2x5xf32, #rows>
  // CHECK: nn.concat(%{{.*}}, %{{.*}}, %{{.*}}) {axis = 0 : i64} : (tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<24x5xf32>
  %3 = nn.concat(%0, %2, %0) {axis = 0 : i64} : (tensor<2x5xf32, #rows>, tensor<2x5xf32, #rows>, tensor<2x5xf32, #rows>) -> tensor<6x5xf32, #heads>
  // CHECK: nn.reshape %{{.*}} : tensor<24x5xf32> -> tensor<3x8x5xf32>
  %4 = nn.reshape %3 : tensor<6x5xf32, #heads> -> tensor<3x2x5xf32, #nn.batched<1>>
  // CHECK: nn.elementwise <add> (%{{.*}}, %arg1) : (tensor<8x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
  %5 = nn.elementwise <add> (%0, %w) : (tensor<2x5xf32, #rows>, tensor<5xf32, #same>) -> tensor<2x5xf32, #rows>
  return %5 : tensor<2x5xf32, #rows>
}

// Dropout learns where its samples are.
// CHECK-LABEL: func.func private @mask
func.func private @mask(%x: tensor<6x5xf32, #heads>, %rng: tensor<2xi64, #same>, %first: tensor<i64, #same>) -> tensor<6x5xf32, #heads> {
  // CHECK: nn.dropout({{.*}}) {dim = 0 : i64, key = 7 : i64, outer = 3 : i64, ratio = 1.000000e-01 : f64, rows = 2 : i64}
  %0 = nn.dropout(%x, %rng, %first) {ratio = 0.1 : f64, key = 7 : i64} : (tensor<6x5xf32, #heads>, tensor<2xi64, #same>, tensor<i64, #same>) -> tensor<6x5xf32, #heads>
  return %0 : tensor<6x5xf32, #heads>
}

// CHECK: train.step @step inputs [{name = "x", type = tensor<6x5xf32, #nn.batched<0, outer = 3>>}, {bound = 9 : i64, name = "ids", type = tensor<5xf32, #nn.replicated>}]
train.step @step inputs [{name = "x"}, {bound = 9 : i64, name = "ids"}] {
^bb0(%x: tensor<6x5xf32, #heads>, %w: tensor<5xf32, #same>):
  train.phase "micro" loop(%x: tensor<6x5xf32, #heads> = %x, %w: tensor<5xf32, #same> = %w) {
    // CHECK: (tensor<24x5xf32>, tensor<5xf32>) -> tensor<8x5xf32>
    %0 = train.command @shapes(%x, %w) {id = 0 : i64, flops = #cost, bytes = #cost} : (tensor<6x5xf32, #heads>, tensor<5xf32, #same>) -> tensor<2x5xf32, #rows>
    %rng = nn.constant {value = dense<0> : tensor<2xi64>} : tensor<2xi64, #same>
    %first = nn.constant {value = dense<0> : tensor<i64>} : tensor<i64, #same>
    %1 = train.command @mask(%x, %rng, %first) {id = 1 : i64, flops = #cost, bytes = #cost} : (tensor<6x5xf32, #heads>, tensor<2xi64, #same>, tensor<i64, #same>) -> tensor<6x5xf32, #heads>
    train.yield
  }
}
}
