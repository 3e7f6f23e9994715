// Checkpoints appear whole or not at all.
// SPDX-License-Identifier: MIT
#include <minitorch/train/run.hpp>

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <minitorch/autograd/autograd.hpp>
#include <tests/catch.hpp>
#include <tests/support/temporary.hpp>

using namespace minitorch;

namespace {
train::RunDirectory::Files files(double value, std::int64_t count = 2) {
  StateDict state;
  state.add("x", full<double>({count}, value));
  return {{"model.safetensors", {state, {{"step", "1"}}}}, {"optimizer.safetensors", {state, {}}}};
}
double saved(const train::RunDirectory& run, std::int64_t step) {
  double value = 0;
  for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
    const auto x = io::load_safetensors(run.checkpoint(step) / name).tensors.at("x").as<double>();
    CHECK(std::ranges::all_of(x.values(), [&](double v) { return v == static_cast<double>(step); }));
    value = x.data()[0];
  }
  return value;
}
}  // namespace

TEST_CASE("the newest checkpoints are kept") {
  testing::TemporaryDirectory directory;
  const train::RunDirectory run(directory / "a/run");
  CHECK(run.steps().empty());
  for (int step : {5, 20, 1000000}) run.save(step, files(step));
  CHECK(run.steps() == std::vector<std::int64_t>{20, 1000000});
  CHECK(run.checkpoint(20).filename() == "checkpoint-000020");
  CHECK(saved(run, 1000000) == 1000000);
  run.save(20, files(-1));  // there already
  CHECK(saved(run, 20) == 20);
}

TEST_CASE("a save that fails changes nothing") {
  testing::TemporaryDirectory directory;
  const train::RunDirectory run(directory / "run");
  run.save(1, files(1));
  auto bad = files(2);
  bad[1].first = "no/such/directory";
  CHECK_THROWS_AS(run.save(2, bad), IoError);
  CHECK(run.steps() == std::vector<std::int64_t>{1});
  CHECK(std::distance(std::filesystem::directory_iterator(run.path()), {}) == 1);
}

TEST_CASE("a kill in the middle of a save leaves checkpoints that load") {
  testing::TemporaryDirectory directory;
  train::RunDirectory(directory / "run").save(1, files(1, 100000));
  int killed_early = 0;
  for (int delay = 0; delay < 20; ++delay) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const train::RunDirectory run(directory / "run");
      for (std::int64_t step = run.steps().back() + 1;; ++step) run.save(step, files(static_cast<double>(step), 100000));
    }
    ::usleep(static_cast<useconds_t>(1000 + 1500 * delay));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (const auto& entry : std::filesystem::directory_iterator(directory / "run")) killed_early += entry.path().extension() == ".tmp";
    const train::RunDirectory run(directory / "run");
    REQUIRE_FALSE(run.steps().empty());
    for (const auto& entry : std::filesystem::directory_iterator(run.path())) CHECK(entry.path().extension() != ".tmp");
    for (std::int64_t step : run.steps()) CHECK(saved(run, step) == static_cast<double>(step));
  }
  CHECK(killed_early > 0);  // the test did interrupt saves
}
