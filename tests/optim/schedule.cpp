// Learning rates as functions of the step.
// SPDX-License-Identifier: MIT
#include <minitorch/optim/schedule.hpp>

#include <tests/catch.hpp>

using namespace minitorch::optim;

TEST_CASE("LR01 a cosine, once and as a wave") {
  const double expected[] = {1,    0.9779754323328191,  0.9140576474687263, 0.8145033635316129,  0.6890576474687263,
                             0.55, 0.41094235253127376, 0.2854966364683872, 0.18594235253127372, 0.12202456766718092,
                             0.1,  0.12202456766718092};
  const auto wave = cosine_wave(1, 10, .1), once = cosine(1, 10, .1);
  for (int t = 0; t < 12; ++t) CHECK(wave(t) == Approx(expected[t]).epsilon(1e-14));
  for (int t = 0; t < 11; ++t) CHECK(once(t) == wave(t));
  CHECK(once(11) == .1);
}

TEST_CASE("LR02 warm-up, cosine, constant") {
  const auto lr = warm_up(2000, cosine(6e-4, 598000, 6e-5));
  CHECK(lr(0) == Approx(2.998500749625187e-07).epsilon(1e-14));
  CHECK(lr(999) == Approx(0.0002998500749625187).epsilon(1e-14));
  CHECK(lr(2000) == Approx(0.0006).epsilon(1e-14));
  CHECK(lr(301000) == Approx(0.00033).epsilon(1e-14));
  CHECK(lr(600000) == 6e-5);
  CHECK(lr(600001) == 6e-5);
}

TEST_CASE("constant, linear and by steps") {
  CHECK(constant(.5)(1000) == .5);
  CHECK(linear(1, 10, .5)(5) == .75);
  CHECK(linear(1, 10, .5)(50) == .5);
  CHECK(step_decay(1, 10, .5)(9) == 1);
  CHECK(step_decay(1, 10, .5)(20) == .25);
}
