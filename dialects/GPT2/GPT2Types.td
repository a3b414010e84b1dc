// Types and op classes that the ops of the gpt2 dialect share.
// SPDX-License-Identifier: Apache-2.0

#ifndef GPT2_TYPES_TD
#define GPT2_TYPES_TD

include "dialects/GPT2/GPT2Attrs.td"
include "dialects/GPT2/GPT2Interfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def GPT2_Float : AnyTypeOf<[F32, F16, BF16], "f32, f16 or bf16">;

// No dimension is 0 and no size overflows: see isUsableShape.
def GPT2_UsableShape
    : CPred<"::mlir::gpt2::isUsableShape("
            "::llvm::cast<::mlir::RankedTensorType>($_self))">;

class GPT2_Tensor<list<Type> elements, int rank, string summary>
    : RankedTensorOf<elements, [HasAnyRankOfPred<[rank]>, GPT2_UsableShape],
                     summary>;

def GPT2_Matrix : GPT2_Tensor<[GPT2_Float], 2, "static float matrix">;
def GPT2_F32Matrix : GPT2_Tensor<[F32], 2, "static f32 matrix">;
def GPT2_Vector : GPT2_Tensor<[GPT2_Float], 1, "static float vector">;
def GPT2_F32Vector : GPT2_Tensor<[F32], 1, "static f32 vector">;
def GPT2_IntVector : GPT2_Tensor<[I32], 1, "static i32 vector">;
def GPT2_IntMatrix : GPT2_Tensor<[I32], 2, "static i32 matrix">;
def GPT2_KVCache : GPT2_Tensor<[GPT2_Float], 4,
                               "static [slots, heads, positions, size] cache">;
def GPT2_VectorOrMatrix
    : RankedTensorOf<[GPT2_Float],
                     [HasAnyRankOfPred<[1, 2]>, GPT2_UsableShape],
                     "static float vector or matrix">;
def GPT2_F32VectorOrMatrix
    : RankedTensorOf<[F32], [HasAnyRankOfPred<[1, 2]>, GPT2_UsableShape],
                     "static f32 vector or matrix">;
def GPT2_AnyStatic
    : RankedTensorOf<[GPT2_Float, I32], [GPT2_UsableShape], "static tensor">;

// The rank-1 tensor of one shape and element type: never written out.
class GPT2_Slot<Type vector, int size, string element, string getter>
    : Type<And<[vector.predicate,
                CPred<"::llvm::cast<::mlir::RankedTensorType>($_self)"
                      ".getDimSize(0) == " # size>]>,
           "tensor<" # size # "x" # element # ">", "::mlir::RankedTensorType">,
      BuildableType<"::mlir::RankedTensorType::get({" # size # "}, "
                    "$_builder." # getter # "())">;

// Numbers that lie on the device.
def GPT2_OneInt : GPT2_Slot<GPT2_IntVector, 1, "i32", "getI32Type">;
def GPT2_OneFloat : GPT2_Slot<GPT2_F32Vector, 1, "f32", "getF32Type">;
def GPT2_Rng : GPT2_Slot<GPT2_IntVector, 4, "i32", "getI32Type">;
def GPT2_StepParams : GPT2_Slot<GPT2_F32Vector, 16, "f32", "getF32Type">;
def GPT2_TrainState : GPT2_Slot<GPT2_F32Vector, 8, "f32", "getF32Type">;

def GPT2_Count : ConfinedAttr<I64Attr, [IntPositive]>;

//===----------------------------------------------------------------------===//
// Op classes
//===----------------------------------------------------------------------===//

class GPT2_Op<string mnemonic, list<Trait> traits = []>
    : Op<GPT2_Dialect, mnemonic, traits>;

// An op on activations: no effects, known to the precision and cost passes.
// `precision` and `cost` name the interface methods whose default is not right.
class GPT2_ComputeOp<string mnemonic, list<Trait> traits = [],
                     list<string> precision = [], list<string> cost = []>
    : GPT2_Op<mnemonic, traits # [
        Pure, DeclareOpInterfaceMethods<PrecisionOpInterface, precision>,
        DeclareOpInterfaceMethods<CostOpInterface, cost>]> {
  let hasVerifier = 1;
}

def GPT2_Decomposes : DeclareOpInterfaceMethods<DecomposeOpInterface>;
def GPT2_SumsColumns
    : DeclareOpInterfaceMethods<DecomposeOpInterface, ["isColumnResult"]>;
def GPT2_Elementwise
    : DeclareOpInterfaceMethods<DecomposeOpInterface, ["isElementwise"]>;

def GPT2_Differentiates
    : DeclareOpInterfaceMethods<DifferentiableOpInterface>;

#endif // GPT2_TYPES_TD
