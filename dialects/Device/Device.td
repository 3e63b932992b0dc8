// SPDX-License-Identifier: Apache-2.0
// The device dialect: the program that an artifact runs. Dialect, its one type, enums.
#ifndef ACCUM_DEVICE
#define ACCUM_DEVICE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Device_Dialect : Dialect {
  let name = "device";
  let cppNamespace = "::accum::device";
  let summary = "the program: buffers at offsets, loops over micro-batches, launches, collectives";
  let description = [{
    What `schedule` makes of a planned step and both printers (LLVM IR, C++) read. Nothing is allocated: every buffer is
    a place in the state, in the scratch arena or in what the runtime hands over.

    ```mlir
    device.program @program m 2 devices 1 state 1280 bytes scratch 256 bytes attributes {inputs = [{name = "x"} ], phases = [{gradients, loop, name = "micro"}, {name = "update"} ]} step {
      %w = device.buffer state at 0 : tensor<3xf32> "w"
      %dw = device.buffer state at 256 : tensor<3xf32> "gradient of w"
      device.for_micro 0 {
        %x = device.buffer input at 0 : tensor<2x3xf32> "x"
        %y = device.buffer scratch at 0 : tensor<2xf32> "/MatMul"
        device.launch 4 @dot[0](%x, %w, %y)
        device.launch 5 @outer[1](%x, %y, %dw) accumulate
      }
      device.all_reduce %dw
      device.section "update"
      device.launch 6 @sgd[2](%dw, %w, %w)
      device.end_micro 0
    } eval {
    }
    ```
  }];
  let useDefaultTypePrinterParser = 1;
}

def Device_Buffer : TypeDef<Device_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "the address of a tensor in row-major order, its rows one behind the other or a pitch apart";
}
def Device_BufferLike : Type<Device_Buffer.predicate, "buffer">, BuildableType<
    "::accum::device::BufferType::get($_builder.getContext())">;

def Device_Space : I32EnumAttr<"Space", "where a buffer lies", [
    I32EnumAttrCase<"state", 0>, I32EnumAttrCase<"scratch", 1>, I32EnumAttrCase<"input", 2>,
    I32EnumAttrCase<"rng", 3>, I32EnumAttrCase<"hyper", 4>, I32EnumAttrCase<"decay", 5>]> {
  let cppNamespace = "::accum::device";
}

def Device_Update : I32EnumAttr<"Update", "how results meet what the buffer holds", [
    I32EnumAttrCase<"write", 0>, I32EnumAttrCase<"accumulate", 1>, I32EnumAttrCase<"add", 2>]> {
  let description = "`accumulate` writes in the first micro-step of its loop (in slices: in the first slice of that) and adds in later ones.";
  let cppNamespace = "::accum::device";
}

def Device_Hidden : I32EnumAttr<"Hidden", "the score of a key that a query may not see (values of accum_hidden)", [
    I32EnumAttrCase<"excluded", 0>, I32EnumAttrCase<"infinite", 1>, I32EnumAttrCase<"lowered", 2>,
    I32EnumAttrCase<"replaced", 3>]> {
  let cppNamespace = "::accum::device";
}

#endif
