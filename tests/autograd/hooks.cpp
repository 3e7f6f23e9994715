// Saved-tensor hooks: what they see, what they may do, what they may not.
// SPDX-License-Identifier: MIT
#include <minitorch/autograd/hooks.hpp>

#include <memory>

#include <tests/autograd/operations.hpp>
#include <tests/catch.hpp>

using namespace operations;

TEST_CASE("EN32 every saved value is packed once and unpacked once") {
  int packs = 0, unpacks = 0;
  const auto a = leaf(mt::scalar<double>(0.5));
  mt::Tensor<double> y;
  {
    const mt::SavedTensorHooks hooks(
        [&](const mt::AnyTensor& value) {
          ++packs;
          CHECK_FALSE(value.requires_grad());
          return std::any(value);
        },
        [&](const std::any& ticket) {
          ++unpacks;
          return std::any_cast<mt::AnyTensor>(ticket);
        });
    y = exp(mul(a, a));
  }
  CHECK(packs == 3);
  CHECK(unpacks == 0);
  y.backward();
  CHECK(packs == 3);
  CHECK(unpacks == 3);
  CHECK(a.grad().item() == Approx(std::exp(0.25)));
}

TEST_CASE("EN32 a double packed as float") {
  const auto a = leaf(mt::scalar<double>(0.1));
  mt::Tensor<double> y;
  {
    const mt::SavedTensorHooks hooks(
        [](const mt::AnyTensor& value) { return std::any(value.as<double>().to<float>()); },
        [](const std::any& ticket) -> mt::AnyTensor { return std::any_cast<mt::Tensor<float>>(ticket).to<double>(); });
    y = mul(a, a);
  }
  y.backward();
  CHECK(a.grad().item() == 0.20000000298023224);
}

TEST_CASE("EN33 a pack hook must not write to its input") {
  const auto a = leaf(mt::scalar<double>(3));
  const mt::SavedTensorHooks hooks(
      [](const mt::AnyTensor& value) {
        value.as<double>().mutable_data()[0] = 0;
        return std::any(value);
      },
      [](const std::any& ticket) { return std::any_cast<mt::AnyTensor>(ticket); });
  CHECK_THROWS_WITH(mul(a, a), Catch::Contains("mul") && Catch::Contains("must not modify"));
}

TEST_CASE("an unpack hook must return what was packed") {
  const auto a = leaf(mt::ones<double>({2}));
  const auto with = [&](mt::AnyTensor answer) {
    const mt::SavedTensorHooks hooks([](const mt::AnyTensor&) { return std::any(); }, [answer](const std::any&) { return answer; });
    return sum(mul(a, a));
  };
  CHECK_THROWS_WITH(with(mt::ones<double>({3})).backward(), Catch::Contains("[3]") && Catch::Contains("[2]"));
  CHECK_THROWS_WITH(with(mt::ones<float>({2})).backward(), Catch::Contains("float32") && Catch::Contains("float64"));
  CHECK_THROWS_WITH(with({}).backward(), Catch::Contains("nothing"));
  CHECK_FALSE(a.grad().defined());
}

TEST_CASE("the innermost hooks win, and scopes may end in any order") {
  Numbers seen;
  const auto tagged = [&](int tag) {
    return std::make_unique<mt::SavedTensorHooks>(
        [&seen, tag](const mt::AnyTensor& value) {
          seen.push_back(tag);
          return std::any(value);
        },
        [](const std::any& ticket) { return std::any_cast<mt::AnyTensor>(ticket); });
  };
  const auto a = leaf(mt::scalar<double>(1));
  auto one = tagged(1), two = tagged(2), three = tagged(3);
  (void)exp(a);
  two.reset();
  (void)exp(a);
  three.reset();
  (void)exp(a);
  one.reset();
  (void)exp(a);
  CHECK(seen == Numbers{3, 3, 1});
}

TEST_CASE("what a hook computes is neither packed nor recorded") {
  int packs = 0;
  const auto a = leaf(mt::scalar<double>(1));
  const mt::SavedTensorHooks hooks(
      [&](const mt::AnyTensor& value) {
        ++packs;
        auto x = value.as<double>();
        CHECK_FALSE(exp(leaf(mul(x, x))).requires_grad());
        return std::any(value);
      },
      [](const std::any& ticket) { return std::any_cast<mt::AnyTensor>(ticket); });
  exp(a).backward();
  CHECK(packs == 1);
}

TEST_CASE("a hook that throws") {
  const NothingLeft left;
  {
    const auto a = leaf(mt::scalar<double>(1));
    {
      const mt::SavedTensorHooks hooks([](const mt::AnyTensor&) -> std::any { throw std::logic_error("no"); },
                                       [](const std::any&) { return mt::AnyTensor(); });
      CHECK_THROWS_AS(mul(a, a), std::logic_error);
      CHECK(mt::grad_enabled());
    }
    exp(a).backward();
    CHECK(a.grad().item() == std::exp(1.0));
  }
  CHECK(left.bytes() == 0);
}
