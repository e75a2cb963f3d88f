#pragma once
// The kinds of steps, one maker for each file of this folder.

#include <memory>
#include <string>

#include "adagp/method/method.h"

namespace adagp::method {

using MethodMaker = std::function<std::unique_ptr<Method>(step::Session&)>;

MethodMaker backprop_method();
MethodMaker skip_method();
MethodMaker small_batch_method();
MethodMaker adagp_method();
MethodMaker wrong_input_method();
MethodMaker zero_method();
MethodMaker ema_method();
MethodMaker low_res_method();
MethodMaker progressive_method();
MethodMaker selective_method();
MethodMaker partial_method();
MethodMaker freeze_method();
MethodMaker auto_method();
MethodMaker control_variate_method();

template <typename T>
MethodMaker maker() {
  return [](step::Session& s) -> std::unique_ptr<Method> {
    if constexpr (std::is_constructible_v<T, const step::Session&>) {
      return std::make_unique<T>(s);
    } else {
      return std::make_unique<T>();
    }
  };
}

// A method's entry of a checkpoint; throws DataError when it is missing.
const at::Tensor& saved(const std::map<std::string, at::Tensor>& state, const std::string& name);

}  // namespace adagp::method
