// A constant is part of the kernels that read it, also through a view: no command is handed one.
// RUN: accum-opt %s -accum-form-commands=mode=reference | FileCheck %s

// CHECK: train.command @add_1x2xi64(%{{[^,]*}}) {
// CHECK: func.func private @add_1x2xi64(%[[X:[a-z0-9]*]]: tensor<1x2xi64, #nn.batched<0>>)
// CHECK:   %[[C:[0-9]*]] = nn.constant {value = dense<[0, 1]> : tensor<2xi64>}
// CHECK:   %[[V:[0-9]*]] = nn.reshape %[[C]]
// CHECK:   nn.elementwise <add> (%[[X]], %[[V]])
train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<1x2xi64, #nn.batched<0>>):
  %sum = train.phase "micro" loop(%x: tensor<1x2xi64, #nn.batched<0>> = %x) -> tensor<i64, #nn.replicated> {
    %c = nn.constant {value = dense<[0, 1]> : tensor<2xi64>} : tensor<2xi64, #nn.replicated>
    %v = nn.reshape %c : tensor<2xi64, #nn.replicated> -> tensor<1x2xi64, #nn.replicated>
    %y = nn.elementwise <add> (%x, %v) : (tensor<1x2xi64, #nn.batched<0>>, tensor<1x2xi64, #nn.replicated>) -> tensor<1x2xi64, #nn.batched<0>>
    %s = nn.reduce <sum> (%y) {axes = array<i64: 0, 1>} : (tensor<1x2xi64, #nn.batched<0>>) -> tensor<i64, #nn.partial<sum>>
    train.yield %s : tensor<i64, #nn.partial<sum>> to ["sum"]
  }
}
