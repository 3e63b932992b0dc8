// A program prints as it was read, with names made from the labels.
// RUN: accum-opt %s | accum-opt | FileCheck %s

func.func private @dot(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> tensor<2xf32> attributes {accum.kernel = 0 : i64}

// CHECK-LABEL: device.program @program m 2 devices 4 state 1280 bytes scratch 256 bytes
// CHECK-SAME: attributes {inputs = [{name = "x"}, {name = "valid"}, {name = "first_row"}], phases = [{gradients, loop, name = "micro"}, {name = "update"}]} step {
device.program @program m 2 devices 4 state 1280 bytes scratch 256 bytes
    attributes {inputs = [{name = "x"}, {name = "valid"}, {name = "first_row"}], phases = [{gradients, loop, name = "micro"}, {name = "update"}]} step {
  // CHECK: %h.0_weight = device.buffer state at 0 : tensor<3xf32> "h.0/weight"
  %0 = device.buffer state at 0 : tensor<3xf32> "h.0/weight"
  %1 = device.buffer state at 256 : tensor<3xf32> "gradient of h.0.weight"
  // CHECK: device.for_micro 0 {
  device.for_micro 0 {
    // CHECK: %input_ids = device.buffer input at 0 : tensor<2x3xf32> "input_ids"
    %2 = device.buffer input at 0 : tensor<2x3xf32> "input_ids"
    // CHECK: %MatMul = device.buffer scratch at 64 : tensor<2xf32> "/MatMul"
    %3 = device.buffer scratch at 64 : tensor<2xf32> "/MatMul"
    // CHECK: device.launch 4 @dot[0](%input_ids, %h.0_weight, %MatMul)
    device.launch 4 @dot[0](%2, %0, %3)
    // CHECK: device.zero %gradient_of_h.0.weight if_first
    device.zero %1 if_first
    // CHECK: device.gemm 5 @outer accumulate %gradient_of_h.0.weight = %MatMul * %input_ids sizes [1, 3, 2]
    // CHECK-SAME: strides a [2, 1] b [3, 1] c 3{{$}}
    device.gemm 5 @outer accumulate %1 = %3 * %2 sizes [1, 3, 2] strides a [2, 1] b [3, 1] c 3
    // CHECK: device.for_slices 2 "sample" "the micro-batch sample by sample" {
    device.for_slices 2 "sample" "the micro-batch sample by sample" {
      // CHECK: device.for_slices 3 "piece" "a sample in 3 pieces" {
      device.for_slices 3 "piece" "a sample in 3 pieces" {
        // CHECK: device.buffer input at 0 step [12, 4] : tensor<1xf32> "a piece of x"
        %4 = device.buffer input at 0 step [12, 4] : tensor<1xf32> "a piece of x"
        // CHECK: device.buffer scratch at 64 skip 160 step [16, 4] : tensor<1xf32> "its score"
        %5 = device.buffer scratch at 64 skip 160 step [16, 4] : tensor<1xf32> "its score"
        device.copy %4 to %5
        // CHECK: device.buffer scratch at 0 step [16, 4] pitch 4 : tensor<2x3xf32> "rows"
        %6 = device.buffer scratch at 0 step [16, 4] pitch 4 : tensor<2x3xf32> "rows"
      }
    }
  }
  // CHECK: device.for_micro 0 rest {
  device.for_micro 0 rest {
    // CHECK: device.first_micro {
    device.first_micro {
      // CHECK: device.all_reduce %gradient_of_h.0.weight
      device.all_reduce %1
    }
  }
  // CHECK: device.all_reduce %gradient_of_h.0.weight
  device.all_reduce %1
  // CHECK: device.inspect_gradients %gradient_of_h.0.weight part last
  device.inspect_gradients %1 part last
  // CHECK: device.reduce_scatter %unit start if_last
  // CHECK: device.reduce_scatter %unit{{$}}
  %7 = device.buffer state at 0 : tensor<256xf32> "unit"
  device.reduce_scatter %7 start if_last
  device.reduce_scatter %7
  // CHECK: %own_part = device.buffer state at 0 by_rank 256 : tensor<64xf32> "own part"
  // CHECK: device.all_gather %own_part to %unit start
  // CHECK: device.all_gather %own_part to %unit{{$}}
  %8 = device.buffer state at 0 by_rank 256 : tensor<64xf32> "own part"
  device.all_gather %8 to %7 start
  device.all_gather %8 to %7
  // CHECK: device.fetch %own_part from 512 start
  device.fetch %8 from 512 start
  // CHECK: device.store %own_part to 512
  device.store %8 to 512
  // CHECK: device.section "update"
  device.section "update"
  // CHECK: device.copy %gradient_of_h.0.weight to %h.0_weight
  device.copy %1 to %0
  // CHECK: device.end_micro 0
  device.end_micro 0
// CHECK: eval {
} eval {
}
