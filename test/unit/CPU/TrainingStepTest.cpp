//===- TrainingStepTest.cpp - Training's instructions against double ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/Plan/CpuWorkspace.h"
#include "test/unit/CPU/StepHarness.h"
#include "test/unit/GPT2/TrainingReference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gpt2rt::cpu {
namespace {

using gpt2test::Matrix;
using gpt2test::randomMatrix;

constexpr DType types[] = {DType::F32, DType::BF16};

/// What the buffer of a type holds of the values.
Matrix rounded(Matrix values, DType type) {
  for (double &value : values.data) {
    auto single = static_cast<float>(value);
    value =
        type == DType::BF16 ? bfloat16ToFloat(floatToBFloat16(single)) : single;
  }
  return values;
}

/// Elements within `tolerance` of the largest, and the whole within half of
/// that of its own size.
void expectNear(const std::vector<double> &got, const Matrix &want,
                double tolerance) {
  ASSERT_EQ(got.size(), want.data.size());
  double largest = 0, size = 0, difference = 0;
  for (double value : want.data) {
    largest = std::max(largest, std::abs(value));
    size += value * value;
  }
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want.data[i], tolerance * largest) << "element " << i;
    difference += std::pow(got[i] - want.data[i], 2);
  }
  EXPECT_LE(std::sqrt(difference), tolerance / 2 * std::sqrt(size));
}

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

struct Product {
  int64_t m, n, k;
  bool weightNk, transposeA, accumulate;
};

class ProductTest {
public:
  ProductTest(const Product &p, DType type, DType result)
      : p(p), a(rounded(randomMatrix(p.m, p.k, 1), type)),
        b(rounded(randomMatrix(p.k, p.n, 2), type)),
        d(rounded(randomMatrix(p.m, p.n, 3), result)) {
    fb::MatmulT op;
    auto m = static_cast<uint64_t>(p.m), n = static_cast<uint64_t>(p.n),
         k = static_cast<uint64_t>(p.k);
    op.a =
        harness.add(type, p.transposeA ? std::vector{k, m} : std::vector{m, k});
    op.weight =
        harness.add(type, p.weightNk ? std::vector{n, k} : std::vector{k, n});
    op.d = harness.add(result, {m, n});
    uint64_t bytes = matmulWorkspaceBytes(m, k, p.weightNk, p.transposeA);
    op.workspace = static_cast<int32_t>(harness.addWorkspace(bytes));
    op.m = static_cast<uint32_t>(m);
    op.n = static_cast<uint32_t>(n);
    op.k = static_cast<uint32_t>(k);
    op.weight_nk = p.weightNk;
    op.transpose_a = p.transposeA;
    op.accumulate = p.accumulate;
    result_ = op.d;
    harness.instruction(op);
    harness.build();
    harness.set(op.a, p.transposeA ? transposed(a).data : a.data);
    harness.set(op.weight, p.weightNk ? transposed(b).data : b.data);
    harness.set(op.d, d.data);
  }

  void check(double tolerance) {
    harness.run(2);
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = p.accumulate ? d.at(i, j) : 0;
        for (int64_t c = 0; c < p.k; ++c)
          sum += a.at(i, c) * b.at(c, j);
        d.at(i, j) = sum;
      }
    expectNear(harness.get(result_), d, tolerance);
  }

private:
  static Matrix transposed(const Matrix &matrix) {
    Matrix result(matrix.columns, matrix.rows);
    for (int64_t i = 0; i < matrix.rows; ++i)
      for (int64_t j = 0; j < matrix.columns; ++j)
        result.at(j, i) = matrix.at(i, j);
    return result;
  }

  Product p;
  Matrix a, b, d;
  StepHarness harness;
  uint32_t result_ = 0;
};

TEST(TrainingMatmul, GradientOfTheInputReadsTheWeightsAsTheyLie) {
  for (DType type : types)
    for (Product p : {Product{37, 29, 45, false, false, false},
                      {3, 64, 40, false, false, false},
                      {128, 96, 200, false, false, false}})
      ProductTest(p, type, type).check(type == DType::F32 ? 2e-6 : 8e-3);
}

TEST(TrainingMatmul, GradientOfTheWeightsIsAddedInF32) {
  for (DType type : types)
    for (Product p : {Product{37, 29, 45, false, true, true},
                      {64, 48, 3, false, true, true},
                      {200, 96, 256, false, true, true},
                      {8, 16, 20, false, true, true}})
      ProductTest(p, type, DType::F32).check(2e-6);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Forward and backward of one shape.
class AttentionTest {
public:
  AttentionTest(const gpt2test::Attention &reference, DType type)
      : reference(reference), type(type),
        qkv(rounded(randomMatrix(reference.rows(), 3 * reference.width(), 1),
                    type)),
        dout(rounded(randomMatrix(reference.rows(), reference.width(), 2),
                     type)) {
    auto rows = static_cast<uint64_t>(reference.rows()),
         width = static_cast<uint64_t>(reference.width());
    buffers.qkv = harness.add(type, {rows, 3 * width});
    buffers.out = harness.add(type, {rows, width});
    buffers.lse =
        harness.add(DType::F32, {rows, static_cast<uint64_t>(reference.heads)});
    buffers.dout = harness.add(type, {rows, width});
    buffers.dqkv = harness.add(type, {rows, 3 * width});
    buffers.rng = harness.add(DType::I32, {4});
    addForward();
    addBackward();
    harness.build();
    harness.set(buffers.qkv, qkv.data);
    harness.set(buffers.dout, dout.data);
    harness.set(buffers.rng, {reference.rng.begin(), reference.rng.end()});
  }

  void check() {
    harness.run(1);
    gpt2test::Attention::Results want = reference.forward(qkv);
    expectNear(harness.get(buffers.out), want.out, tolerance());
    expectNear(harness.get(buffers.lse), want.lse, 2e-6);
    Matrix gradient = reference.backward(qkv, dout);
    std::vector<double> first = harness.get(buffers.dqkv);
    expectNear(first, gradient, tolerance());
    harness.run(3);
    EXPECT_EQ(harness.get(buffers.dqkv), first) << "depends on threads";
  }

private:
  double tolerance() const { return type == DType::F32 ? 5e-6 : 2e-2; }

  template <typename OpT>
  void describe(OpT &op) const {
    op.qkv = buffers.qkv;
    op.out = buffers.out;
    op.batch = static_cast<uint32_t>(reference.batch);
    op.tokens = static_cast<uint32_t>(reference.tokens);
    op.heads = static_cast<uint32_t>(reference.heads);
    op.head_size = static_cast<uint32_t>(reference.headSize);
    op.scale = static_cast<float>(reference.scale);
    if (reference.dropout == 0)
      return;
    op.rng = static_cast<int32_t>(buffers.rng);
    op.dropout = reference.dropout;
    op.dropout_id = reference.dropoutId;
  }

  void addForward() {
    fb::AttentionT op;
    describe(op);
    op.lse = static_cast<int32_t>(buffers.lse);
    op.workspace =
        static_cast<int32_t>(harness.addWorkspace(attentionWorkspaceBytes(
            false, op.batch, op.heads, op.tokens, op.tokens)));
    harness.instruction(op);
  }

  void addBackward() {
    fb::AttentionGradT op;
    describe(op);
    op.lse = buffers.lse;
    op.dout = buffers.dout;
    op.dqkv = buffers.dqkv;
    op.workspace =
        static_cast<int32_t>(harness.addWorkspace(attentionGradWorkspaceBytes(
            op.batch, op.heads, op.tokens, op.head_size)));
    harness.instruction(op);
  }

  gpt2test::Attention reference;
  DType type;
  Matrix qkv, dout;
  StepHarness harness;
  struct {
    uint32_t qkv, out, lse, dout, dqkv, rng;
  } buffers = {};
};

/// Lengths below, at and above blocks of 64 rows; odd head sizes.
const gpt2test::Attention shapes[] = {
    {.batch = 2, .tokens = 1, .heads = 1, .headSize = 8, .scale = 0.35f},
    {.batch = 2, .tokens = 5, .heads = 3, .headSize = 20, .scale = 0.2f},
    {.batch = 1, .tokens = 64, .heads = 2, .headSize = 32, .scale = 0.15f},
    {.batch = 2, .tokens = 131, .heads = 2, .headSize = 64, .scale = 0.125f},
};

TEST(TrainingAttention, EqualsTheReferenceInDouble) {
  for (DType type : types)
    for (const gpt2test::Attention &shape : shapes)
      AttentionTest(shape, type).check();
}

TEST(TrainingAttention, DropsWhatTheHashSays) {
  for (DType type : types)
    for (gpt2test::Attention shape : shapes) {
      shape.dropout = 0.3f;
      shape.dropoutId = 7;
      shape.rng = {-123456789, 42, 17, 5};
      AttentionTest(shape, type).check();
    }
}

/// Of the first `live` rows of a sequence; what lies behind is no number.
void checkFirstRows(const gpt2test::Attention &shape, DType type,
                    int64_t live) {
  StepHarness harness;
  auto rows = static_cast<uint64_t>(shape.rows()),
       width = static_cast<uint64_t>(shape.width());
  fb::AttentionT op;
  op.qkv = harness.add(type, {rows, 3 * width});
  op.out = harness.add(type, {rows, width});
  op.batch = 1;
  op.tokens = static_cast<uint32_t>(shape.tokens);
  op.heads = static_cast<uint32_t>(shape.heads);
  op.head_size = static_cast<uint32_t>(shape.headSize);
  op.scale = static_cast<float>(shape.scale);
  op.dynamic_rows = true;
  op.workspace = static_cast<int32_t>(harness.addWorkspace(
      attentionWorkspaceBytes(false, 1, op.heads, op.tokens, op.tokens)));
  harness.follow(harness.add(DType::I32, {1}));
  harness.instruction(op);
  ASSERT_NO_FATAL_FAILURE(harness.build());
  Matrix qkv = rounded(randomMatrix(shape.rows(), 3 * shape.width(), 1), type);
  Matrix want = shape.forward(qkv).out;
  std::fill(qkv.data.begin() + live * 3 * shape.width(), qkv.data.end(), NAN);
  harness.set(op.qkv, qkv.data);
  harness.run(2, live);
  std::vector<double> got = harness.get(op.out);
  got.resize(static_cast<size_t>(live * shape.width()));
  want.data.resize(got.size());
  expectNear(got, want, type == DType::F32 ? 5e-6 : 2e-2);
}

TEST(TrainingAttention, LeavesOutWhatLiesBehindTheCount) {
  const gpt2test::Attention shape = {
      .batch = 1, .tokens = 131, .heads = 2, .headSize = 20, .scale = 0.2f};
  for (DType type : types)
    for (int64_t live : {1, 16, 37, 64, 65, 100, 130, 131})
      checkFirstRows(shape, type, live);
}

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

void checkEmbedGrad(int64_t batch, int64_t tokens, int64_t columns) {
  constexpr int64_t vocab = 11;
  const int64_t rows = batch * tokens;
  std::vector<int> ids(static_cast<size_t>(rows));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int>(i * i * 7 % vocab);
  std::vector<int> order(ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int row) { return ids[row]; });
  Matrix dx = rounded(randomMatrix(rows, columns, 1), DType::F32);
  Matrix dwte = rounded(randomMatrix(vocab, columns, 2), DType::F32);
  Matrix dwpe = rounded(randomMatrix(tokens + 2, columns, 3), DType::F32);

  StepHarness harness;
  auto r = static_cast<uint64_t>(rows), c = static_cast<uint64_t>(columns);
  fb::EmbedGradT op;
  op.dx = harness.add(DType::F32, {r, c});
  op.tokens = harness.add(DType::I32, {r});
  op.order = harness.add(DType::I32, {r});
  op.dwte = harness.add(DType::F32, {vocab, c});
  op.dwpe = harness.add(DType::F32, {static_cast<uint64_t>(tokens + 2), c});
  op.batch = static_cast<uint32_t>(batch);
  op.tokens_per_sequence = static_cast<uint32_t>(tokens);
  harness.instruction(op);
  harness.build();
  harness.set(op.dx, dx.data);
  // Ids outside the table count for its ends, as they do forward.
  std::vector<double> wild(ids.begin(), ids.end());
  for (double &id : wild)
    id = id == 0 ? -5 : id == vocab - 1 ? 1000 : id;
  harness.set(op.tokens, wild);
  harness.set(op.order, {order.begin(), order.end()});
  std::vector<double> first[2];
  for (int threads : {1, 3}) {
    harness.set(op.dwte, dwte.data);
    harness.set(op.dwpe, dwpe.data);
    harness.run(threads);
    std::vector<double> got[] = {harness.get(op.dwte), harness.get(op.dwpe)};
    for (int i = 0; i < 2; ++i) {
      if (first[i].empty())
        first[i] = got[i];
      EXPECT_EQ(got[i], first[i]) << "depends on threads";
    }
  }
  gpt2test::EmbedGradient want =
      gpt2test::embedGradient(dx, ids, batch, vocab, tokens + 2);
  for (size_t i = 0; i < dwte.data.size(); ++i)
    want.dwte.data[i] += dwte.data[i];
  for (size_t i = 0; i < dwpe.data.size(); ++i)
    want.dwpe.data[i] += dwpe.data[i];
  expectNear(first[0], want.dwte, 1e-6);
  expectNear(first[1], want.dwpe, 1e-6);
}

TEST(EmbedGrad, AddsRowsToTheirTokensAndPositions) {
  checkEmbedGrad(1, 1, 5);
  checkEmbedGrad(3, 7, 64);
  checkEmbedGrad(2, 40, 200);
}

} // namespace
} // namespace gpt2rt::cpu
