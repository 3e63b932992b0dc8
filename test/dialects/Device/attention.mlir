// Attention reads and writes parts of buffers: heads side by side in a row of q, k and v.
// RUN: accum-opt %s | accum-opt | FileCheck %s

device.program @program m 2 devices 1 state 0 bytes scratch 4096 bytes step {
  %0 = device.buffer scratch at 0 : tensor<2x3x24xf32> "qkv"
  %1 = device.buffer scratch at 1024 : tensor<2x1x1x3xi1> "mask"
  %2 = device.buffer scratch at 1088 : tensor<2x3x8xf32> "y"
  %3 = device.buffer scratch at 1344 : tensor<2x2x3xf32> "lse"
  %4 = device.buffer scratch at 2048 : tensor<2x3x24xf32> "dqkv"
  // CHECK: device.attention 3 @attention(%qkv, %qkv, %qkv, %mask, %y, %lse) sizes [2, 2, 2, 3, 3, 4, 4] offsets [0, 8, 16, 0, 0, 0] strides [72, 4, 24, 1, 72, 4, 24, 1, 72, 4, 24, 1, 3, 0, 0, 1, 24, 4, 8, 1, 6, 3, 1, 0] scale 5.000000e-01 causal masked lowered
  device.attention 3 @attention(%0, %0, %0, %1, %2, %3) sizes [2, 2, 2, 3, 3, 4, 4] offsets [0, 8, 16, 0, 0, 0] strides [72, 4, 24, 1, 72, 4, 24, 1, 72, 4, 24, 1, 3, 0, 0, 1, 24, 4, 8, 1, 6, 3, 1, 0] scale 0.5 causal masked lowered
  // CHECK: device.attention 4 @attention_bwd backward(%qkv, %qkv, %qkv, %y, %lse, %y, %dqkv, %dqkv, %dqkv) sizes
  device.attention 4 @attention_bwd backward(%0, %0, %0, %2, %3, %2, %4, %4, %4) sizes [2, 2, 2, 3, 3, 4, 4] offsets [0, 8, 16, 0, 0, 0, 0, 8, 16] strides [72, 4, 24, 1, 72, 4, 24, 1, 72, 4, 24, 1, 24, 4, 8, 1, 6, 3, 1, 0, 24, 4, 8, 1, 72, 4, 24, 1, 72, 4, 24, 1, 72, 4, 24, 1] scale 0.5 infinite
} eval {
}
