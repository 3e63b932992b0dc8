# SPDX-License-Identifier: Apache-2.0
"""A step of 400 commands whose kernel scales by one table of four million numbers."""

TENSOR = "tensor<1x4xf32, #nn.batched<0>>"
TABLE = "tensor<2048x2048xf32, #nn.replicated>"
COMMANDS = 400

print(f"""func.func private @scale(%x: {TENSOR}) -> {TENSOR} {{
  %table = nn.constant {{value = dense<2.0> : tensor<2048x2048xf32>}} : {TABLE}
  %one = nn.slice %table at [0, 0] by [1, 1] : {TABLE} -> tensor<1x4xf32, #nn.replicated>
  %row = nn.reshape %one : tensor<1x4xf32, #nn.replicated> -> tensor<4xf32, #nn.replicated>
  %y = nn.elementwise <mul> (%x, %row) : ({TENSOR}, tensor<4xf32, #nn.replicated>) -> {TENSOR}
  return %y : {TENSOR}
}}
train.step @step inputs [{{name = "x"}}] {{
^bb0(%x: {TENSOR}):
  train.phase "micro" loop(%v0: {TENSOR} = %x) {{""")
for i in range(COMMANDS):
    print(f"  %v{i + 1} = train.command @scale(%v{i}) {{id = {i} : i64, flops = #train.poly<0, 0>, bytes = #train.poly<0, 0>}}"
          f" : ({TENSOR}) -> {TENSOR}")
print("""  train.yield
  }
}""")
