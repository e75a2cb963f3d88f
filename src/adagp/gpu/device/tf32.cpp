#include "adagp/gpu/device/tf32.h"

#include <mutex>

#include <ATen/Context.h>

namespace adagp::device {
namespace {

struct Tf32Holders {
  std::mutex mutex;
  int count = 0;
  bool convolutions = false, products = false;  // before the first of them
};

Tf32Holders& tf32_holders() {
  static Tf32Holders holders;
  return holders;
}

}  // namespace

WithoutTf32::WithoutTf32() {
  Tf32Holders& holders = tf32_holders();
  const std::lock_guard lock(holders.mutex);
  if (holders.count++ > 0) return;
  at::Context& context = at::globalContext();
  holders.convolutions = context.allowTF32CuDNN();
  holders.products = context.allowTF32CuBLAS();
  context.setAllowTF32CuDNN(false);
  context.setAllowTF32CuBLAS(false);
}

WithoutTf32::~WithoutTf32() {
  Tf32Holders& holders = tf32_holders();
  const std::lock_guard lock(holders.mutex);
  if (--holders.count > 0) return;
  at::globalContext().setAllowTF32CuDNN(holders.convolutions);
  at::globalContext().setAllowTF32CuBLAS(holders.products);
}

bool convolutions_use_tf32() {
  return at::globalContext().allowTF32CuDNN();
}

ProductsInTf32::ProductsInTf32(bool on) : before_(at::globalContext().allowTF32CuBLAS()) {
  at::globalContext().setAllowTF32CuBLAS(on);
}

ProductsInTf32::~ProductsInTf32() {
  at::globalContext().setAllowTF32CuBLAS(before_);
}

}  // namespace adagp::device
