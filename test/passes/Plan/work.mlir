// What kernels compute, in the words that measured costs have: scaled logits are computed with the loss, sums over long rows
// stand apart, and transposes that move rows from those that pick element by element.
// RUN: accumc %s --batch 2 --micro-batch 2 --recompute none --plan-only --json | python3 -c "import json, sys; [print(c['kernel'], ' '.join(sorted(c['work']))) for c in json.load(sys.stdin)['search']['commands'] if 'work' in c]" | sort -u | FileCheck %s
// CHECK-DAG: tanh_add_cross_entropy{{[^ ]*}} cross_entropy_computed plain tanh
// CHECK-DAG: reduce_5000xf32 reduce_wide_columns
// CHECK-DAG: transpose_1x32x8xf32 transpose_last
// CHECK-DAG: transpose_1x2x8x16xf32 transpose{{$}}
// CHECK-DAG: transpose_1x4x8x8xf32 transpose_last

module attributes {accum.model = "work.onnx", accum.phase = "import"} {
  train.param @table : tensor<5000x32xf32> from <"w", 0, 640000, 0> trained
  train.param @bias : tensor<5000xf32> from <"w", 640000, 20000, 0> trained
  train.param @columns : tensor<32x8xf32> from <"w", 660000, 1024, 0> trained
  func.func @forward(%ids: tensor<1x8xi64, #nn.extent<0>> {train.bound = 5000 : i64, train.name = "input_ids"}, %labels: tensor<1x8xi64, #nn.extent<0>> {train.bound = 5000 : i64, train.ignore_index = -100 : i64, train.name = "labels"}) -> tensor<f32> {
    %table = train.load_param @table : tensor<5000x32xf32>
    %bias = train.load_param @bias : tensor<5000xf32>
    %columns = train.load_param @columns : tensor<32x8xf32>
    %x = nn.gather(%table, %ids) {axis = 0 : i64} : (tensor<5000x32xf32>, tensor<1x8xi64, #nn.extent<0>>) -> tensor<1x8x32xf32, #nn.extent<0>>
    %0 = nn.transpose %x [0, 2, 1] : tensor<1x8x32xf32, #nn.extent<0>> -> tensor<1x32x8xf32, #nn.extent<0>>
    %1 = nn.elementwise <mul> (%0, %columns) : (tensor<1x32x8xf32, #nn.extent<0>>, tensor<32x8xf32>) -> tensor<1x32x8xf32, #nn.extent<0>>
    %2 = nn.transpose %1 [0, 2, 1] : tensor<1x32x8xf32, #nn.extent<0>> -> tensor<1x8x32xf32, #nn.extent<0>>
    %y = nn.softmax(%2) {axis = 2 : i64} : (tensor<1x8x32xf32, #nn.extent<0>>) -> tensor<1x8x32xf32, #nn.extent<0>>
    %heads0 = nn.reshape %y : tensor<1x8x32xf32, #nn.extent<0>> -> tensor<1x8x2x16xf32, #nn.extent<0>>
    %heads1 = nn.transpose %heads0 [0, 2, 1, 3] : tensor<1x8x2x16xf32, #nn.extent<0>> -> tensor<1x2x8x16xf32, #nn.extent<0>>
    %heads2 = nn.softmax(%heads1) {axis = 3 : i64} : (tensor<1x2x8x16xf32, #nn.extent<0>>) -> tensor<1x2x8x16xf32, #nn.extent<0>>
    %heads3 = nn.transpose %heads2 [0, 2, 1, 3] : tensor<1x2x8x16xf32, #nn.extent<0>> -> tensor<1x8x2x16xf32, #nn.extent<0>>
    %heads = nn.reshape %heads3 : tensor<1x8x2x16xf32, #nn.extent<0>> -> tensor<1x8x32xf32, #nn.extent<0>>
    %eights0 = nn.reshape %heads : tensor<1x8x32xf32, #nn.extent<0>> -> tensor<1x8x4x8xf32, #nn.extent<0>>
    %eights1 = nn.transpose %eights0 [0, 2, 1, 3] : tensor<1x8x4x8xf32, #nn.extent<0>> -> tensor<1x4x8x8xf32, #nn.extent<0>>
    %eights2 = nn.softmax(%eights1) {axis = 3 : i64} : (tensor<1x4x8x8xf32, #nn.extent<0>>) -> tensor<1x4x8x8xf32, #nn.extent<0>>
    %eights3 = nn.transpose %eights2 [0, 2, 1, 3] : tensor<1x4x8x8xf32, #nn.extent<0>> -> tensor<1x8x4x8xf32, #nn.extent<0>>
    %eights = nn.reshape %eights3 : tensor<1x8x4x8xf32, #nn.extent<0>> -> tensor<1x8x32xf32, #nn.extent<0>>
    %logits = nn.contract "amk,nk->amn" (%eights, %table) : (tensor<1x8x32xf32, #nn.extent<0>>, tensor<5000x32xf32>) -> tensor<1x8x5000xf32, #nn.extent<0>>
    %capped = nn.elementwise <tanh> (%logits) : (tensor<1x8x5000xf32, #nn.extent<0>>) -> tensor<1x8x5000xf32, #nn.extent<0>>
    %shifted = nn.elementwise <add> (%capped, %bias) : (tensor<1x8x5000xf32, #nn.extent<0>>, tensor<5000xf32>) -> tensor<1x8x5000xf32, #nn.extent<0>>
    %loss, %lse = nn.cross_entropy(%shifted, %labels) {ignore_index = -100 : i64} : (tensor<1x8x5000xf32, #nn.extent<0>>, tensor<1x8xi64, #nn.extent<0>>) -> (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>)
    %sum = nn.reduce <sum> (%loss) {axes = array<i64: 0, 1>} : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<f32>
    %samples = nn.batch_size : tensor<i64>
    %count = nn.cast %samples : tensor<i64> -> tensor<f32>
    %mean = nn.elementwise <div> (%sum, %count) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
