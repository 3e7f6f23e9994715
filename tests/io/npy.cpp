// NumPy's .npy format.
// SPDX-License-Identifier: MIT
#include <minitorch/io/npy.hpp>

#include <minitorch/autograd/autograd.hpp>
#include <tests/catch.hpp>
#include <tests/support/temporary.hpp>

using namespace minitorch;

namespace {
std::string npy(const std::string& dictionary, const std::string& data, char major = 1) {
  std::string header = dictionary + '\n', file = std::string("\x93NUMPY") + major + '\0';
  file += static_cast<char>(header.size());
  file += std::string(major == 1 ? 1 : 3, '\0');
  return file + header + data;
}
}  // namespace

TEST_CASE("what is written is what NumPy writes, byte for byte") {
  testing::TemporaryDirectory directory;
  io::save_npy(directory / "x.npy", tensor<float>({{1, 2, 3}, {4, 5, 6}}));
  const std::string file = io::read_file(directory / "x.npy");
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  expected.resize(127, ' ');
  expected += '\n';
  CHECK(file.substr(0, 128) == expected);
  CHECK(file.size() == 152);
}

TEST_CASE("every type and rank survives a round trip") {
  testing::TemporaryDirectory directory;
  const auto check = [&](const AnyTensor& original) {
    io::save_npy(directory / "x.npy", original);
    const AnyTensor read = io::load_npy(directory / "x.npy");
    CHECK(read.dtype() == original.dtype());
    CHECK(read.shape() == original.shape());
    CHECK((read.bytes() == 0 || std::memcmp(read.data().data(), original.data().data(), static_cast<std::size_t>(read.bytes())) == 0));
  };
  check(scalar<double>(.1));
  check(tensor<float>({1, 2, 3}));
  check(tensor<half>({half(.5f)}));
  check(arange<std::int64_t>(0, 24).reshape({2, 3, 4}));
  check(tensor<bool>({true, false}));
  check(zeros<float>({0, 4}));
  CHECK_THROWS_WITH(io::save_npy(directory / "x.npy", zeros<bfloat16>({1})),
                    "save_npy: NumPy has no bfloat16; convert the tensor with .to<float>()");
}

TEST_CASE("column-major arrays are transposed, keys come in any order, versions 2 and 3 too") {
  const std::string data("\1\0\2\0\3\0\4\0\5\0\6\0", 12);
  const auto x = io::decode_npy(npy("{'shape': (2, 3), 'fortran_order': True, 'descr': '<i2'}", data, 2)).as<std::int64_t>();
  CHECK(std::vector<std::int64_t>(x.values().begin(), x.values().end()) == std::vector<std::int64_t>{1, 3, 5, 2, 4, 6});
  CHECK(io::decode_npy(npy("{'descr':'<i2','fortran_order':False,'shape':(6,)}", data, 3)).shape() == Shape{6});
}

TEST_CASE("malformed files are errors") {
  const std::string good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "1234");
  CHECK(io::decode_npy(good).numel() == 1);
  for (std::size_t length = 0; length < good.size(); ++length) CHECK_THROWS_AS(io::decode_npy(good.substr(0, length)), IoError);
  CHECK_THROWS_WITH(io::decode_npy(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234")),
                    "npy: the type '>f4' is not supported");
  CHECK_THROWS_AS(io::decode_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "1234")), IoError);
  CHECK_THROWS_AS(io::decode_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }", "1234")), IoError);
  CHECK_THROWS_AS(io::decode_npy(npy("{'descr': '<f4', 'shape': (1,), }", "1234")), IoError);
}
