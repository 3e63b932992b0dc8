// An attention takes along the views around it: one buffer of q, k and v is read, one of their cotangents written.
// RUN: accum-opt %s -accum-form-commands=mode=fused | FileCheck %s
// RUN: accum-opt %s -accum-form-commands=mode=reference | FileCheck %s --check-prefix=REF

train.param @w : tensor<24x24xf32> from <"m.onnx", 0, 2304, 0> trained

// CHECK-LABEL: train.step @step
// REF-LABEL: train.step @step
train.step @step inputs [{name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x6x24xf32, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>, %hyper: tensor<8xf64, #nn.replicated>):
  %loss, %sum_of_w = train.phase "micro" loop(%x: tensor<1x6x24xf32, #nn.batched<0>> = %x) -> (tensor<f32, #nn.replicated>, tensor<24x24xf32, #nn.replicated>) {
    %w = train.load_param @w : tensor<24x24xf32, #nn.replicated>
    // CHECK: %[[QKV:.*]] = train.command @contract
    %qkv = nn.contract "btk,kn->btn" (%x, %w) : (tensor<1x6x24xf32, #nn.batched<0>>, tensor<24x24xf32, #nn.replicated>) -> tensor<1x6x24xf32, #nn.batched<0>>
    // 21 pairs, 2 heads of 4 features, 2 products, 2 operations each.
    // CHECK: %[[Y:.*]]:2 = train.command @attention_1x2x6x4xf32(%[[QKV]]) {{.*}}flops = #train.poly<0, 672>, {{.*}}library = "attention"{{.*}} -> (tensor<1x2x6xf32, #nn.batched<0>>, tensor<1x6x2x4xf32, #nn.batched<0>>)
    // REF-COUNT-3: train.command @slice
    // REF: train.command @attention_1x2x6x4xf32(%{{.*}}, %{{.*}}, %{{.*}}) {{.*}}library = "attention"
    // REF: train.command @transpose
    // REF: train.command @attention_bwd{{.*}}library = "attention"
    // REF: train.command @concat
    %q0 = nn.slice %qkv at [0, 0, 0] by [1, 1, 1] : tensor<1x6x24xf32, #nn.batched<0>> -> tensor<1x6x8xf32, #nn.batched<0>>
    %k0 = nn.slice %qkv at [0, 0, 8] by [1, 1, 1] : tensor<1x6x24xf32, #nn.batched<0>> -> tensor<1x6x8xf32, #nn.batched<0>>
    %v0 = nn.slice %qkv at [0, 0, 16] by [1, 1, 1] : tensor<1x6x24xf32, #nn.batched<0>> -> tensor<1x6x8xf32, #nn.batched<0>>
    %q1 = nn.reshape %q0 : tensor<1x6x8xf32, #nn.batched<0>> -> tensor<1x6x2x4xf32, #nn.batched<0>>
    %k1 = nn.reshape %k0 : tensor<1x6x8xf32, #nn.batched<0>> -> tensor<1x6x2x4xf32, #nn.batched<0>>
    %v1 = nn.reshape %v0 : tensor<1x6x8xf32, #nn.batched<0>> -> tensor<1x6x2x4xf32, #nn.batched<0>>
    %q = nn.transpose %q1 [0, 2, 1, 3] : tensor<1x6x2x4xf32, #nn.batched<0>> -> tensor<1x2x6x4xf32, #nn.batched<0>>
    %k = nn.transpose %k1 [0, 2, 1, 3] : tensor<1x6x2x4xf32, #nn.batched<0>> -> tensor<1x2x6x4xf32, #nn.batched<0>>
    %v = nn.transpose %v1 [0, 2, 1, 3] : tensor<1x6x2x4xf32, #nn.batched<0>> -> tensor<1x2x6x4xf32, #nn.batched<0>>
    %y, %lse = nn.attention(%q, %k, %v) <infinite> causal {scale = 0.5 : f64} : (tensor<1x2x6x4xf32, #nn.batched<0>>, tensor<1x2x6x4xf32, #nn.batched<0>>, tensor<1x2x6x4xf32, #nn.batched<0>>) -> (tensor<1x2x6x4xf32, #nn.batched<0>>, tensor<1x2x6xf32, #nn.batched<0>>)
    %rows = nn.transpose %y [0, 2, 1, 3] : tensor<1x2x6x4xf32, #nn.batched<0>> -> tensor<1x6x2x4xf32, #nn.batched<0>>
    %e = nn.elementwise <exp> (%rows) : (tensor<1x6x2x4xf32, #nn.batched<0>>) -> tensor<1x6x2x4xf32, #nn.batched<0>>
    %l = nn.reduce <sum> (%e) {axes = array<i64: 0, 1, 2, 3>} : (tensor<1x6x2x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    // What forward gave is read in its layout there.
    // CHECK: %[[D:.*]] = train.command @attention_bwd_1x2x6x4xf32({{.*}}) {{.*}}flops = #train.poly<0, 1680>, {{.*}}library = "attention"{{.*}} -> tensor<1x6x24xf32, #nn.batched<0>>
    // CHECK: train.command @contract{{.*}}(%{{.*}}, %[[D]])
    %dy = nn.transpose %e [0, 2, 1, 3] : tensor<1x6x2x4xf32, #nn.batched<0>> -> tensor<1x2x6x4xf32, #nn.batched<0>>
    %d:3 = nn.attention_bwd(%q, %k, %v, %y, %lse, %dy) <infinite> causal {scale = 0.5 : f64} : (tensor<1x2x6x4xf32, #nn.batched<0>>, tensor<1x2x6x4xf32, #nn.batched<0>>, tensor<1x2x6x4xf32, #nn.batched<0>>, tensor<1x2x6x4xf32, #nn.batched<0>>, tensor<1x2x6xf32, #nn.batched<0>>, tensor<1x2x6x4xf32, #nn.batched<0>>) -> (tensor<1x2x6x4xf32, #nn.batched<0>>, tensor<1x2x6x4xf32, #nn.batched<0>>, tensor<1x2x6x4xf32, #nn.batched<0>>)
    %dq1 = nn.transpose %d#0 [0, 2, 1, 3] : tensor<1x2x6x4xf32, #nn.batched<0>> -> tensor<1x6x2x4xf32, #nn.batched<0>>
    %dk1 = nn.transpose %d#1 [0, 2, 1, 3] : tensor<1x2x6x4xf32, #nn.batched<0>> -> tensor<1x6x2x4xf32, #nn.batched<0>>
    %dv1 = nn.transpose %d#2 [0, 2, 1, 3] : tensor<1x2x6x4xf32, #nn.batched<0>> -> tensor<1x6x2x4xf32, #nn.batched<0>>
    %dq0 = nn.reshape %dq1 : tensor<1x6x2x4xf32, #nn.batched<0>> -> tensor<1x6x8xf32, #nn.batched<0>>
    %dk0 = nn.reshape %dk1 : tensor<1x6x2x4xf32, #nn.batched<0>> -> tensor<1x6x8xf32, #nn.batched<0>>
    %dv0 = nn.reshape %dv1 : tensor<1x6x2x4xf32, #nn.batched<0>> -> tensor<1x6x8xf32, #nn.batched<0>>
    %dqkv = nn.concat(%dq0, %dk0, %dv0) {axis = 2 : i64} : (tensor<1x6x8xf32, #nn.batched<0>>, tensor<1x6x8xf32, #nn.batched<0>>, tensor<1x6x8xf32, #nn.batched<0>>) -> tensor<1x6x24xf32, #nn.batched<0>>
    %dw = nn.contract "btk,btn->kn" (%x, %dqkv) : (tensor<1x6x24xf32, #nn.batched<0>>, tensor<1x6x24xf32, #nn.batched<0>>) -> tensor<24x24xf32, #nn.partial<sum>>
    train.yield %l, %dw : tensor<f32, #nn.partial<sum>>, tensor<24x24xf32, #nn.partial<sum>> to ["loss", @w]
  }
}
