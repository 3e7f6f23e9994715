// train_gpt in bfloat16.
// SPDX-License-Identifier: MIT
#include <examples/gpt/trainer_of.hpp>

namespace examples {

template std::unique_ptr<Reader> make_reader_of<float, mt::bfloat16>(const TrainSetup&, const mt::StateDict&);
template std::unique_ptr<Trainer> make_trainer_of<float, mt::bfloat16>(const TrainSetup&, mt::Communicator&);

}  // namespace examples
