// The errors: one tree, one line of text each, the operation first and the values that came in it.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>

#include <minitorch/core/text.hpp>

namespace minitorch {

// What every error of the library can be caught as. docs/errors.md says what a caller can do after each.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ShapeError : public Error {  // shapes that do not fit each other or the operation
 public:
  using Error::Error;
};

class ArgumentError : public Error {  // a value outside of what the function takes
 public:
  using Error::Error;
};

class GraphError : public Error {  // a backward pass that is impossible: freed, modified or missing graph
 public:
  using Error::Error;
};

class CommError : public Error {  // a collective that did not happen
 public:
  using Error::Error;
};

class TimeoutError : public CommError {  // the deadline passed while ranks were missing
 public:
  using CommError::CommError;
};

class PeerLost : public CommError {  // a rank died, threw or returned early
 public:
  using CommError::CommError;
};

class CollectiveMismatch : public CommError {  // ranks called different operations
 public:
  using CommError::CommError;
};

class IoError : public Error {  // a file that cannot be read, written or understood
 public:
  using Error::Error;
};

namespace detail {
template <class E>
[[noreturn, gnu::cold, gnu::noinline]] void throw_error(std::initializer_list<TextPart> parts) {
  throw E(join(parts));
}
}  // namespace detail

// Throws E with the parts as its one line of text. Kept out of line: the caller's hot path stays small.
template <class E, class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Parts&... parts) {
  detail::throw_error<E>({parts...});
}

}  // namespace minitorch
