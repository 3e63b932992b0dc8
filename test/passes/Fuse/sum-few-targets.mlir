// Tables of a few rows are sums over columns, one a row.
// RUN: accum-opt %s -accum-sum-few-targets | FileCheck %s

// CHECK-LABEL: func.func @types
// CHECK-DAG: %[[ONE:.*]] = nn.constant {value = dense<1> : tensor<i64>}
// CHECK-DAG: %[[LAST:.*]] = nn.constant {value = dense<-1> : tensor<i64>}
// CHECK-DAG: nn.elementwise <eq> (%arg0, %[[ONE]])
// CHECK-DAG: nn.elementwise <eq> (%arg0, %[[LAST]])
// CHECK: %[[MASK:.*]] = nn.reshape %{{.*}} : tensor<1x6xi1, #nn.batched<0>> -> tensor<1x6x1xi1, #nn.batched<0>>
// CHECK: %[[OWN:.*]] = nn.elementwise <select> (%[[MASK]], %arg1, %{{.*}})
// CHECK: %[[SUM:.*]] = nn.reduce <sum> (%[[OWN]]) {axes = array<i64: 0, 1>} : (tensor<1x6x4xf32, #nn.batched<0>>) -> tensor<4xf32, #nn.partial<sum>>
// CHECK: %[[ROW:.*]] = nn.reshape %[[SUM]]
// CHECK: %[[TABLE:.*]] = nn.concat(%{{.*}}, %[[ROW]]) {axis = 0 : i64} : {{.*}} -> tensor<2x4xf32, #nn.partial<sum>>
// CHECK: return %[[TABLE]]
func.func @types(%i: tensor<1x6xi64, #nn.batched<0>>, %u: tensor<1x6x4xf32, #nn.batched<0>>) -> tensor<2x4xf32, #nn.partial<sum>> {
  %t = nn.scatter_add(%i, %u) {axis = 0 : i64} : (tensor<1x6xi64, #nn.batched<0>>, tensor<1x6x4xf32, #nn.batched<0>>) -> tensor<2x4xf32, #nn.partial<sum>>
  return %t : tensor<2x4xf32, #nn.partial<sum>>
}

// A vocabulary is not, nor a table of each sample's own.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: nn.scatter_add
func.func @others(%i: tensor<1x6xi64, #nn.batched<0>>, %u: tensor<1x6x4xf32, #nn.batched<0>>) -> (tensor<9x4xf32, #nn.partial<sum>>, tensor<1x2x4xf32, #nn.batched<0>>) {
  %t = nn.scatter_add(%i, %u) {axis = 0 : i64} : (tensor<1x6xi64, #nn.batched<0>>, tensor<1x6x4xf32, #nn.batched<0>>) -> tensor<9x4xf32, #nn.partial<sum>>
  %s = nn.scatter_add(%i, %u) {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<1x6xi64, #nn.batched<0>>, tensor<1x6x4xf32, #nn.batched<0>>) -> tensor<1x2x4xf32, #nn.batched<0>>
  return %t, %s : tensor<9x4xf32, #nn.partial<sum>>, tensor<1x2x4xf32, #nn.batched<0>>
}
