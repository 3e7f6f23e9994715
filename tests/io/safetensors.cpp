// The safetensors format: golden bytes, round trips, everything malformed.
// SPDX-License-Identifier: MIT
#include <minitorch/io/safetensors.hpp>

#include <csignal>

#include <sys/resource.h>

#include <minitorch/autograd/autograd.hpp>
#include <tests/catch.hpp>
#include <tests/support/temporary.hpp>

using namespace minitorch;

namespace {

std::string with_length(const std::string& json) {
  std::string length(8, '\0');
  const std::uint64_t n = json.size();
  std::memcpy(length.data(), &n, 8);
  return length + json;
}

std::string file_of(const std::string& json, std::size_t data) { return with_length(json) + std::string(data, '\1'); }

std::string error_of(const std::string& file) {
  try {
    io::decode_safetensors(file, "f");
  } catch (const IoError& error) {
    return error.what();
  }
  return "";
}

std::string encoded(const StateDict& state, const io::Metadata& metadata = {}) {
  auto [bytes, order] = io::safetensors_header(state, metadata);
  for (const auto* entry : order) bytes.append(reinterpret_cast<const char*>(entry->second.data().data()), entry->second.data().size());
  return bytes;
}

}  // namespace

TEST_CASE("the golden bytes of the format's own unit test are read") {
  const std::string golden =
      std::string("@\0\0\0\0\0\0\0", 8) + R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}}    )" + std::string(16, '\0');
  const auto file = io::decode_safetensors(golden);
  REQUIRE(file.tensors.size() == 1);
  const auto test = file.tensors.at("test").as<std::int64_t>();  // integers widen
  CHECK(test.shape() == Shape{2, 2});
  CHECK(test.data()[3] == 0);
}

TEST_CASE("what is written has the same form, byte for byte") {
  StateDict state;
  state.add("test", zeros<float>({2, 2}));
  const std::string golden =
      std::string("@\0\0\0\0\0\0\0", 8) + R"({"test":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}    )" + std::string(16, '\0');
  CHECK(encoded(state) == golden);
}

TEST_CASE("wide types come first, then names; metadata, any name and every type survive a round trip") {
  testing::TemporaryDirectory directory;
  StateDict state;
  state.add("b\"\\\n\x01 \xc3\xa4", tensor<bool>({true, false}));
  state.add("z", tensor<double>({1.5, -0.0}));
  state.add("a", tensor<float>({{1, 2}, {3, 4}}));
  state.add("h", tensor<half>({half(0.1f)}));
  state.add("w", tensor<bfloat16>({bfloat16(0.1f)}));
  state.add("i", scalar<std::int64_t>(-7));
  state.add("empty", zeros<float>({0, 3}));
  const io::Metadata metadata{{"format", "pt"}, {"text", "a \"quoted\" line\n"}};
  io::save_safetensors(directory / "x.safetensors", state, metadata);
  const auto file = io::load_safetensors(directory / "x.safetensors");
  CHECK(file.metadata == metadata);
  REQUIRE(file.tensors.size() == state.size());
  std::vector<std::string> order;
  for (const auto& [name, tensor] : file.tensors) {
    order.push_back(name);
    const AnyTensor& original = state.at(name);
    CHECK(tensor.dtype() == original.dtype());
    CHECK(tensor.shape() == original.shape());
    CHECK(
        (tensor.bytes() == 0 || std::memcmp(tensor.data().data(), original.data().data(), static_cast<std::size_t>(tensor.bytes())) == 0));
  }
  CHECK(order == std::vector<std::string>{"i", "z", "a", "empty", "h", "w", "b\"\\\n\x01 \xc3\xa4"});
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);  // no temporary is left
}

TEST_CASE("an empty file of tensors, and a header that is not padded, are legal") {
  CHECK(io::decode_safetensors(encoded({})).tensors.size() == 0);
  const auto file = io::decode_safetensors(file_of(R"({"a":{"data_offsets":[0,4],"dtype":"U8","shape":[2,2]}})", 4));
  CHECK(file.tensors.at("a").as<std::int64_t>().data()[3] == 1);
  CHECK(io::decode_safetensors(file_of(R"({"a":{"data_offsets":[0,2],"dtype":"I16","shape":[]}})", 2))
            .tensors.at("a")
            .as<std::int64_t>()
            .item() == 257);
}

TEST_CASE("what the format forbids is an error that says so") {
  CHECK(error_of("1234567") == "f: 7 bytes are too few for a safetensors file");
  CHECK(error_of(std::string(8, '\xff')) == "f: a header of 18446744073709551615 bytes does not fit into a file of 8");
  CHECK(error_of(with_length(" {}")) == "f: the header must start with {");
  CHECK(error_of(with_length("{} x")) == "f: byte 3 must be the end");
  const std::string a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  CHECK(error_of(file_of("{" + a + "}", 5)) == "f: 1 bytes follow the last tensor");
  CHECK(error_of(file_of("{" + a + "}", 3)) == "f: a ends at byte 4 of 3; the file is truncated");
  CHECK(error_of(file_of("{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})", 12)) ==
        "f: b starts at byte 8 of the data and not at 4");
  CHECK(error_of(file_of("{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})", 6)) ==
        "f: b starts at byte 2 of the data and not at 4");
  CHECK(error_of(file_of("{" + a + R"(,"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8)) == "f: the name a is there twice");
  CHECK(error_of(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4)) ==
        "f: a of shape [2] does not fill the bytes [0, 4)");
  CHECK(error_of(file_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4)).find("must be an integer") != std::string::npos);
  CHECK(error_of(file_of(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4)).find("2^63") !=
        std::string::npos);
  CHECK(error_of(file_of(R"({"a":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}})", 1)) == "f: a holds F8, which is not supported");
  CHECK(error_of(file_of(R"({"a":{"dtype":"F32","shape":[1]}})", 4)) == "f: a lacks dtype, shape or data_offsets");
  CHECK(error_of(file_of(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4)) ==
        "f: a has an unknown or repeated member dtype");
  CHECK(error_of(with_length(R"({"__metadata__":{"x":1}})")).find("must be '\"'") != std::string::npos);
  CHECK(error_of(with_length(R"({"__metadata__":{"x":"1","x":"2"}})")) == "f: the metadata name x is there twice");
  CHECK(error_of(with_length(R"({"__metadata__":{},"__metadata__":{}})")) == "f: __metadata__ is there twice");
}

TEST_CASE("bytes behind the last tensor are accepted on demand") {
  const std::string file = file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8);
  CHECK_THROWS_AS(io::decode_safetensors(file), IoError);
  CHECK(io::decode_safetensors(file, "f", {.lenient = true}).tensors.size() == 1);
}

TEST_CASE("every truncation and every changed byte of a header is an error or a file, never a crash") {
  StateDict state;
  state.add("weight", ones<float>({2, 3}));
  state.add("bias", ones<double>({2}));
  const std::string good = encoded(state, {{"format", "pt"}});
  for (std::size_t length = 0; length < good.size(); ++length) CHECK_THROWS_AS(io::decode_safetensors(good.substr(0, length)), IoError);
  std::size_t read = 0;
  for (std::size_t at = 0; at < good.size(); ++at)
    for (int change : {1, 2, 16, 128}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      try {
        read += io::decode_safetensors(bad).tensors.size() > 0;
      } catch (const IoError&) {
      }
    }
  CHECK(read > 0);
}

TEST_CASE("a write that fails leaves the old file and no other") {
  testing::TemporaryDirectory directory;
  StateDict state;
  state.add("a", ones<float>({1}));
  CHECK_THROWS_AS(io::save_safetensors(directory / "missing/x", state), IoError);
  io::save_safetensors(directory / "x", state);
  std::filesystem::create_directory(directory / "d");
  io::write_file(directory / "d/inside", "text");
  CHECK_THROWS_AS(io::save_safetensors(directory / "d", state), IoError);  // a directory is not replaced
  CHECK(io::read_file(directory / "d/inside") == "text");
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 2);
  CHECK_THROWS_AS(io::load_safetensors(directory / "missing"), IoError);
  CHECK_THROWS_AS(io::load_safetensors(directory / "d"), IoError);
}

TEST_CASE("a disk that is full is one error, and the old file is as it was") {
  testing::TemporaryDirectory directory;
  StateDict small, large;
  small.add("a", ones<float>({1}));
  large.add("a", ones<float>({100000}));
  io::save_safetensors(directory / "x", small);
  ::rlimit limit{}, low{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  low = limit;
  low.rlim_cur = 4096;
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &low) == 0);
  CHECK_THROWS_AS(io::save_safetensors(directory / "x", large), IoError);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, old);
  CHECK(io::load_safetensors(directory / "x").tensors.at("a").numel() == 1);
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
}
