// RUN: gpt2-opt %s --convert-gpt2-to-plan --split-input-file --verify-diagnostics

// expected-error@+1 {{has no gpt2.program attribute}}
func.func @f() {
  return
}

// -----

// expected-error@+1 {{'init' is the name of the program that loads parameters}}
func.func @init() attributes {gpt2.program = #gpt2.program<
    role = eval, batch = 1, tokens = 4>} {
  return
}
