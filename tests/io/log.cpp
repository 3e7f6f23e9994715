// Metrics logs: rows, missing values, continuing.
// SPDX-License-Identifier: MIT
#include <minitorch/io/log.hpp>

#include <tests/catch.hpp>
#include <tests/support/temporary.hpp>

using namespace minitorch;

namespace {
constexpr double none = std::numeric_limits<double>::quiet_NaN();
}

TEST_CASE("comma-separated values, exact and with gaps") {
  testing::TemporaryDirectory directory;
  io::MetricsLog log(directory / "m.csv", {"step", "loss", "validation"});
  log.row(1, {0.1, none});
  log.row(2, {1.0 / 3, 2});
  CHECK(io::read_file(directory / "m.csv") == "step,loss,validation\n1,0.1,\n2,0.3333333333333333,2\n");
  CHECK_THROWS_AS(log.row(3, {1}), ArgumentError);
}

TEST_CASE("one JSON object a line") {
  testing::TemporaryDirectory directory;
  io::MetricsLog log(directory / "m.jsonl", {"step", "loss", "validation"});
  log.row(1, {0.5, none});
  log.row(2, {0.25, 2});
  CHECK(io::read_file(directory / "m.jsonl") == "{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"loss\":0.25,\"validation\":2}\n");
}

TEST_CASE("a log continues after a step; later rows and a torn one are dropped") {
  testing::TemporaryDirectory directory;
  for (const char* name : {"m.csv", "m.jsonl"}) {
    std::string expected;
    {
      io::MetricsLog log(directory / name, {"step", "loss"});
      log.row(1, {1});
      log.row(2, {2});
      expected = io::read_file(directory / name);
      log.row(3, {3});
    }
    io::write_file(directory / name, io::read_file(directory / name) + "4,");
    io::MetricsLog log(directory / name, {"step", "loss"}, 2);
    CHECK(io::read_file(directory / name) == expected);
  }
  CHECK_THROWS_AS(io::MetricsLog(directory / "m.csv", {"step", "other"}, 2), IoError);
}
