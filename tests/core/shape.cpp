// Shapes: sizes, equality, broadcasting.
// SPDX-License-Identifier: MIT
#include <minitorch/core/shape.hpp>

#include <tests/catch.hpp>

using namespace minitorch;

TEST_CASE("a scalar has one element and no dimension") {
  CHECK(Shape{}.numel() == 1);
  CHECK(Shape{2, 0, 3}.numel() == 0);
  CHECK(concat(Shape{}, Shape{2, 3}) == "[][2, 3]");
}

TEST_CASE("shapes broadcast from the last dimension") {
  CHECK(broadcast_shapes({5, 1, 3}, {4, 1}, "add") == Shape{5, 4, 3});
  CHECK(broadcast_shapes({0}, {1}, "add") == Shape{0});
  CHECK_THROWS_WITH(broadcast_shapes({2, 3}, {2, 4}, "add"), "add: shapes [2, 3] and [2, 4] do not broadcast");
}
