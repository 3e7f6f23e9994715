// From --dtype to the types of parameters and products.
// SPDX-License-Identifier: MIT
#include <examples/gpt/trainer.hpp>

namespace examples {

namespace {

// The result of call.operator()<T, C>() for the types that `dtype` names.
template <class Call>
auto in_types_of(const std::string& dtype, Call call) {
  if (dtype == "float64") return call.template operator()<double, double>();
  if (dtype == "bfloat16") return call.template operator()<float, mt::bfloat16>();
  if (dtype == "float16") return call.template operator()<float, mt::half>();
  return call.template operator()<float, float>();
}

}  // namespace

std::unique_ptr<Reader> make_reader(const TrainSetup& setup, const mt::StateDict& model) {
  return in_types_of(setup.options.dtype, [&]<class T, class C>() { return make_reader_of<T, C>(setup, model); });
}
std::unique_ptr<Trainer> make_trainer(const TrainSetup& setup, mt::Communicator& world) {
  return in_types_of(setup.options.dtype, [&]<class T, class C>() { return make_trainer_of<T, C>(setup, world); });
}

}  // namespace examples
