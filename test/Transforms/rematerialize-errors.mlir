// What rematerialize refuses.
// RUN: split-file %s %t
// RUN: not gpt2-opt %t/no-program.mlir --rematerialize=mode=block 2>&1 | FileCheck %s --check-prefix=PROGRAM
// RUN: gpt2-opt %t/no-program.mlir --rematerialize -o /dev/null
// RUN: not gpt2-opt %t/no-loss.mlir --rematerialize=mode=block 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: not gpt2-opt %t/no-loss.mlir --rematerialize=mode=auto 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not gpt2-opt %t/no-loss.mlir "--rematerialize=mode=block budget=5" 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not gpt2-opt %t/no-loss.mlir --rematerialize=byte-rate=0 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: not gpt2-opt %t/no-loss.mlir --rematerialize=mode=some 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not gpt2-opt %t/no-loss.mlir --rematerialize=cost-table=%t/none.json 2>&1 | FileCheck %s --check-prefix=NOFILE
// RUN: not gpt2-opt %t/no-loss.mlir --rematerialize=cost-table=%t/text.json 2>&1 | FileCheck %s --check-prefix=JSON
// RUN: not gpt2-opt %t/no-loss.mlir --rematerialize=cost-table=%t/list.json 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: not gpt2-opt %t/no-loss.mlir --rematerialize=cost-table=%t/minus.json 2>&1 | FileCheck %s --check-prefix=MINUS
// RUN: not gpt2-opt %t/no-loss.mlir --rematerialize=cost-table=%t/number.json 2>&1 | sed s/number/minus/ | FileCheck %s --check-prefix=MINUS
// RUN: not gpt2-opt %t/no-loss.mlir --rematerialize=cost-table=%t/empty.json 2>&1 | sed s/empty/minus/ | FileCheck %s --check-prefix=MINUS
// RUN: not gpt2-opt %t/no-loss.mlir --rematerialize=cost-table=%t/rate.json 2>&1 | FileCheck %s --check-prefix=RATES

// PROGRAM: error: rematerialize needs a program of role accumulate; this module has none
// LOSS: error: 'accumulate' has no gpt2.cross_entropy_grad that ends its forward half: run build-training first
// BUDGET: error: rematerialize: mode=auto needs a budget of at least 1 byte
// MODE: error: rematerialize: a budget is for mode=auto
// RATE: error: rematerialize: rates must be greater than 0
// NAME: Cannot find option named 'some'
// NOFILE: error: cost table '{{.*}}none.json' cannot be read: No such file or directory
// JSON: error: cost table '{{.*}}text.json' is not JSON:
// LIST: error: cost table '{{.*}}list.json' has no object "ops"; make it with gpt2-run profile --costs
// MINUS: error: cost table '{{.*}}minus.json' has no [rows, microseconds] pairs of at least 0 for "add"
// RATES: error: cost table '{{.*}}rate.json' has no number greater than 0 as "row_bytes_per_second"

//--- no-program.mlir
func.func @eval() attributes {
    gpt2.program = #gpt2.program<role = eval, batch = 1, tokens = 1>} {
  return
}

//--- no-loss.mlir
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 1>} {
  return
}

//--- text.json
microseconds

//--- list.json
[1, 2]

//--- minus.json
{"ops": {"add": [[1, -1]]}}

//--- number.json
{"ops": {"add": 5}}

//--- empty.json
{"ops": {"add": []}}

//--- rate.json
{"row_bytes_per_second": 0, "ops": {}}
