// Progress: times, bars, and silence where there is no terminal.
// SPDX-License-Identifier: MIT
#include <minitorch/train/progress.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <minitorch/io/file.hpp>
#include <tests/catch.hpp>
#include <tests/support/temporary.hpp>

using namespace minitorch;

TEST_CASE("times and bars") {
  CHECK(train::clock_text(65) == "1:05");
  CHECK(train::clock_text(7389.9) == "2:03:09");
  CHECK(train::clock_text(-1) == "0:00");
  CHECK(train::progress_bar(.5, 8) == "####....");
  CHECK(train::progress_bar(1, 3) == "###");
  CHECK(train::progress_text(37, 100, 24, 41, "loss 1.98") == " 37% 37/100 [0:24<0:41, loss 1.98]");
}

TEST_CASE("nothing is drawn where stderr is a file") {
  testing::TemporaryDirectory directory;
  const int file = ::open((directory / "err").c_str(), O_CREAT | O_WRONLY, 0600), old = ::dup(2);
  REQUIRE(file >= 0);
  ::dup2(file, 2);
  {
    train::Progress progress(0, 10, true);
    for (int step = 1; step <= 10; ++step) progress.update(step, "x");
  }
  ::dup2(old, 2);
  ::close(old);
  ::close(file);
  CHECK(io::read_file(directory / "err").empty());
}

TEST_CASE("the first signal is noted") {
  train::StopSignals signals;
  CHECK(signals.received() == 0);
  std::raise(SIGTERM);
  CHECK(signals.received() == SIGTERM);
}
