// Logarithms of sums of exponentials, which leave the range where their terms do.
// RUN: accum-opt %s -accum-recognise | FileCheck %s

// CHECK-LABEL: func.func @log_sum_exp
func.func @log_sum_exp(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1xf32, #nn.extent<0>> {
  // CHECK: %[[T:.*]] = nn.reduce <max> (%arg0)
  // CHECK: %[[M:.*]] = nn.elementwise <select> (%{{.*}}, %{{.*}}, %[[T]])
  // CHECK: %[[C:.*]] = nn.reshape %[[M]]
  // CHECK: %[[D:.*]] = nn.elementwise <sub> (%arg0, %[[C]])
  // CHECK: %[[E:.*]] = nn.elementwise <exp> (%[[D]])
  // CHECK: %[[S:.*]] = nn.reduce <sum> (%[[E]])
  // CHECK: %[[L:.*]] = nn.elementwise <log> (%[[S]])
  // CHECK: %[[Y:.*]] = nn.elementwise <add> (%[[L]], %[[M]])
  // CHECK: return %[[Y]]
  %0 = nn.elementwise <exp> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 1>} : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1xf32, #nn.extent<0>>
  %2 = nn.elementwise <log> (%1) : (tensor<1xf32, #nn.extent<0>>) -> tensor<1xf32, #nn.extent<0>>
  return %2 : tensor<1xf32, #nn.extent<0>>
}

// Of a mean, over an axis in the middle, which is kept.
// CHECK-LABEL: func.func @log_mean_exp
func.func @log_mean_exp(%x: tensor<1x4x8xf32, #nn.extent<0>>) -> tensor<1x1x8xf32, #nn.extent<0>> {
  // CHECK-DAG: nn.constant {value = dense<-1.3862943{{.*}}>
  // CHECK: nn.reduce <max> (%arg0) {axes = array<i64: 1>}
  // CHECK: nn.reduce <sum>
  // CHECK: %[[R:.*]] = nn.reshape {{.*}} -> tensor<1x1x8xf32
  // CHECK: return %[[R]]
  %n = nn.constant {value = dense<4.0> : tensor<f32>} : tensor<f32>
  %0 = nn.elementwise <exp> (%x) : (tensor<1x4x8xf32, #nn.extent<0>>) -> tensor<1x4x8xf32, #nn.extent<0>>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 1>} : (tensor<1x4x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.reshape %1 : tensor<1x8xf32, #nn.extent<0>> -> tensor<1x1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <div> (%2, %n) : (tensor<1x1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x1x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <log> (%3) : (tensor<1x1x8xf32, #nn.extent<0>>) -> tensor<1x1x8xf32, #nn.extent<0>>
  return %4 : tensor<1x1x8xf32, #nn.extent<0>>
}

// Over the samples it stays: check says what is wrong with it.
// CHECK-LABEL: func.func @over_samples
func.func @over_samples(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<8xf32> {
  // CHECK-NOT: <max>
  // CHECK: return
  %0 = nn.elementwise <exp> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 0>} : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<8xf32>
  %2 = nn.elementwise <log> (%1) : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// log(cumsum(exp(x))).
// CHECK-LABEL: func.func @running
func.func @running(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.cumsum(%arg0) {axis = 1 : i64, log}
  // CHECK: return %[[Y]]
  %0 = nn.elementwise <exp> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.cumsum(%0) {axis = 1 : i64} : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <log> (%1) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %2 : tensor<1x8xf32, #nn.extent<0>>
}

// The dynamo exporter's logcumsumexp: less the largest of the whole row.
// CHECK-LABEL: func.func @shifted
func.func @shifted(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: %[[Y:.*]] = nn.cumsum(%arg0) {axis = 1 : i64, log}
  // CHECK-NOT: <add>
  // CHECK: return %[[Y]]
  %t = nn.reduce <max> (%x) {axes = array<i64: 1>} : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1xf32, #nn.extent<0>>
  %m = nn.reshape %t : tensor<1xf32, #nn.extent<0>> -> tensor<1x1xf32, #nn.extent<0>>
  %d = nn.elementwise <sub> (%x, %m) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x1xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %0 = nn.elementwise <exp> (%d) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.cumsum(%0) {axis = 1 : i64} : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <log> (%1) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <add> (%2, %m) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x1xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %3 : tensor<1x8xf32, #nn.extent<0>>
}

// Less something that differs along the row it is another function.
// CHECK-LABEL: func.func @shifted_by_elements
func.func @shifted_by_elements(%x: tensor<1x8xf32, #nn.extent<0>>, %m: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: nn.elementwise <sub>
  // CHECK: nn.elementwise <add>
  %d = nn.elementwise <sub> (%x, %m) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %0 = nn.elementwise <exp> (%d) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.cumsum(%0) {axis = 1 : i64} : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <log> (%1) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <add> (%2, %m) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %3 : tensor<1x8xf32, #nn.extent<0>>
}
