// Text, vocabulary, batches and the generated world.
// SPDX-License-Identifier: MIT
#include <minitorch/train/text.hpp>

#include <set>

#include <tests/catch.hpp>
#include <tests/support/temporary.hpp>

using namespace minitorch;

TEST_CASE("the world is a function of its seed; validation is not training") {
  const train::World a = train::make_world(1), b = train::make_world(1), c = train::make_world(2);
  CHECK(a.training == b.training);
  CHECK(a.validation == b.validation);
  CHECK(a.training != c.training);
  CHECK(a.training.size() == 200000);
  CHECK(a.validation.size() == 24000);
  CHECK(a.training.substr(0, 24000) != a.validation);
  CHECK(a.training.find("lives near the") != std::string::npos);
  // the same facts in both parts
  for (const char* name : {"anna", "leo"}) {
    const std::string start = std::string(name) + " has a ";
    const auto fact = [&](const std::string& text) { return text.substr(text.find(start), start.size() + 5); };
    CHECK(fact(a.training) == fact(a.validation));
  }
}

TEST_CASE("a file is a corpus; what is missing or empty is an error") {
  testing::TemporaryDirectory directory;
  io::write_file(directory / "t", "0123456789abcdefghij");
  const auto corpus = train::load_corpus((directory / "t").string(), 0);
  CHECK(corpus.training == "0123456789abcdefgh");
  CHECK(corpus.validation == "ij");
  io::write_file(directory / "empty", "");
  CHECK_THROWS_AS(train::load_corpus((directory / "empty").string(), 0), IoError);
  CHECK_THROWS_AS(train::load_corpus((directory / "missing").string(), 0), IoError);
  CHECK(train::load_corpus("", 0).training.size() > 50000);  // whatever this machine has
  CHECK(train::load_corpus("world", 7).training == train::make_world(7).training);
}

TEST_CASE("characters become numbers and back") {
  const train::Vocabulary vocabulary({"hello", "\xff\n"});
  CHECK(vocabulary.characters() == "\nehlo\xff");
  const auto tokens = vocabulary.encode("ole\xff");
  CHECK(std::vector<std::int64_t>(tokens.values().begin(), tokens.values().end()) == std::vector<std::int64_t>{4, 3, 1, 5});
  CHECK(vocabulary.decode(tokens.values()) == "ole\xff");
  CHECK_THROWS_WITH(vocabulary.encode("z"), "vocabulary: there is no character with code 122 in the training text");
}

TEST_CASE("a batch depends on seed and step alone, and targets are one further") {
  const auto tokens = arange<std::int64_t>(0, 1000);
  const auto a = train::random_batch(tokens, 4, 10, 1, 7), b = train::random_batch(tokens, 4, 10, 1, 7);
  CHECK(std::memcmp(a.inputs.data(), b.inputs.data(), 320) == 0);
  CHECK(std::memcmp(a.inputs.data(), train::random_batch(tokens, 4, 10, 1, 8).inputs.data(), 320) != 0);
  for (int i = 0; i < 40; ++i) CHECK(a.targets.data()[i] == a.inputs.data()[i] + 1);
  std::set<std::int64_t> starts;
  for (int step = 0; step < 2000; ++step) starts.insert(train::random_batch(tokens, 4, 10, 1, step).inputs.data()[0]);
  CHECK(*starts.begin() == 0);
  CHECK(*starts.rbegin() == 989);  // the last place with a target
  CHECK(starts.size() > 800);
  CHECK_THROWS_WITH(train::random_batch(tokens, 1, 1000, 1, 0), "text: 1000 characters are too few for a context of 1000 and the next one");
  CHECK(train::random_batch(tokens, 1, 999, 1, 0).targets.data()[998] == 999);
}
