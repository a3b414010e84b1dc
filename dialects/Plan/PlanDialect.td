//===- PlanDialect.td - The plan dialect, its enums -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_DIALECTS_PLAN_PLANDIALECT_TD
#define GPT2_DIALECTS_PLAN_PLANDIALECT_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::mlir::plan";
  let summary = "What a compiled model does: programs of kernel launches, "
                "library calls and copies over planned buffers";
  let description = [{
    A module holds `plan.global`s (memory that lives as long as the plan),
    `plan.kernel`s (code, shared by every launch of it), `plan.program`s
    (straight-line instructions over buffers) and, after `plan-memory`, one
    `plan.arena` per kind of memory. Buffers are `memref`s with static shapes.
    The module's attributes `plan.target`, `plan.precision`, `plan.mode`,
    `plan.batch` and `plan.model` say what the plan is for. All of it exports
    one to one to `runtime/Plan/plan.fbs`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::tensor::TensorDialect"];
}

class Plan_Enum<string name, string description, list<I32EnumCase> cases>
    : I32Enum<name, description, cases> {
  let cppNamespace = "::mlir::plan";
}

class Plan_EnumAttr<EnumInfo info, string attrMnemonic>
    : EnumAttr<Plan_Dialect, info, attrMnemonic>;

// The values equal those of plan.fbs.
def Plan_ArenaKind : Plan_Enum<"ArenaKind", "kind of memory", [
  I32EnumCase<"Weights", 0, "weights">, I32EnumCase<"Cache", 1, "cache">,
  I32EnumCase<"State", 2, "state">,
  I32EnumCase<"Activations", 3, "activations">,
  I32EnumCase<"Workspace", 4, "workspace">,
  I32EnumCase<"Gradients", 5, "gradients">,
  I32EnumCase<"Optimizer", 6, "optimizer">]>;
def Plan_ArenaKindAttr : Plan_EnumAttr<Plan_ArenaKind, "arena_kind">;

def Plan_Role : Plan_Enum<"Role", "what a program is for", [
  I32EnumCase<"Init", 0, "init">, I32EnumCase<"Prefill", 1, "prefill">,
  I32EnumCase<"Decode", 2, "decode">, I32EnumCase<"Eval", 3, "eval">,
  I32EnumCase<"Accumulate", 4, "accumulate">,
  I32EnumCase<"Update", 5, "update">,
  I32EnumCase<"Validate", 6, "validate">,
  I32EnumCase<"Sample", 7, "sample">]>;
def Plan_RoleAttr : Plan_EnumAttr<Plan_Role, "role">;

def Plan_Target : Plan_Enum<"Target", "machine that runs the plan", [
  I32EnumCase<"CPU", 0, "cpu">, I32EnumCase<"CUDA", 1, "cuda">]>;
def Plan_TargetAttr : Plan_EnumAttr<Plan_Target, "target">;

def Plan_GlobalKind : Plan_Enum<"GlobalKind", "what a global is", [
  I32EnumCase<"Parameter", 0, "parameter">, I32EnumCase<"Cache", 1, "cache">,
  I32EnumCase<"State", 2, "state">, I32EnumCase<"Gradient", 3, "gradient">,
  I32EnumCase<"Moment", 4, "moment">]>;
def Plan_GlobalKindAttr : Plan_EnumAttr<Plan_GlobalKind, "global_kind">;

def Plan_AllocKind : Plan_Enum<"AllocKind", "what a buffer is for", [
  I32EnumCase<"Activation", 0, "activation">,
  I32EnumCase<"Workspace", 1, "workspace">]>;
def Plan_AllocKindAttr : Plan_EnumAttr<Plan_AllocKind, "alloc_kind">;

#endif // GPT2_DIALECTS_PLAN_PLANDIALECT_TD
