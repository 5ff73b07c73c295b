// SPDX-License-Identifier: Apache-2.0
#include "nibble/emit/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "emit/network_view.h"
#include "emit/test_emitted_program.h"
#include "graph/test_naive_examples.h"
#include "nibble/core/limits.h"

namespace nibble::inline emit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two linear layers of bytes.
Model small_network() {
  Dice dice(1);
  NetworkMaker maker({8}, integers_format("int8"));
  maker.add(Linear{.features = 6});
  maker.with(tensor_of<std::int8_t>({6, 8}, dice.many(48, -127, 127)));
  maker.rescale(maker.last(), {3}, 9, 0, 255);
  maker.add(Linear{.features = 3});
  maker.with(tensor_of<std::int8_t>({3, 6}, dice.many(18, -127, 127)));
  return maker.model();
}

TestVectors vectors_of(const Model& model) {
  Dice dice(2);
  const NaiveExamples examples(model, dice, -128, 127, 4);
  return {.count = 4, .inputs = examples.input, .outputs = examples.values.back()};
}

std::string text_of(const EmittedNetwork& network, const std::string& name) {
  for (const EmittedFile& file : network.files) {
    if (file.name == name) return file.text;
  }
  return "no such file";
}

std::string failure_of(const EmitSettings& settings) {
  return error_of([&] { check_emittable(small_network(), settings); });
}

TEST(Emit, NoNameEndsAComment) {
  const std::string hostile = "x\n#include <stdlib.h>\n// \\";
  Model model = small_network();
  model.network.name = hostile;
  EXPECT_THAT(error_of([&] { check_emittable(model, {}); }), HasSubstr("[network] name: got 'x "));
  // Past the check, too.
  model.network.nodes[1].name = hostile;
  const NetworkView view(std::move(model));
  EXPECT_EQ(view.model.network.name, "x _include _stdlib.h_ // _");
  EXPECT_EQ(view.node(1).name, "x__include__stdlib.h______");
}

TEST(Emit, NamesEverythingByThePrefix) {
  const Model model = small_network();
  EmitSettings settings;
  settings.prefix = "tiny_1";
  const EmittedNetwork network = emit_c(model, settings, vectors_of(model));
  for (const EmittedFile& file : network.files) {
    EXPECT_THAT(file.text, Not(HasSubstr("net_"))) << file.name;
    EXPECT_THAT(file.text, Not(HasSubstr("NET_"))) << file.name;
  }
  EXPECT_THAT(text_of(network, "tiny_1.h"),
              HasSubstr("int tiny_1_run(void *arena, const tiny_1_in"));
  EXPECT_THAT(text_of(network, "tiny_1.h"), HasSubstr("#define TINY_1_OUTPUT_SIZE 3 "));
  EXPECT_EQ(EmittedProgram(network).failure("gcc -O1"), "");
}

TEST(Emit, TheSelfTestFindsAWrongAnswer) {
  const Model model = small_network();
  TestVectors vectors = vectors_of(model);
  vectors.outputs[4] += 1;
  const EmittedNetwork network = emit_c(model, {}, vectors);
  EXPECT_THAT(EmittedProgram(network).failure("gcc"), HasSubstr("1 of 4 test vectors differ"));
}

TEST(Emit, WrongArgumentsHaveStatusCodes) {
  const Model model = small_network();
  EmittedNetwork network = emit_c(model, {}, vectors_of(model));
  std::ranges::find(network.files, "net_main.c", &EmittedFile::name)->text =
      "#include \"net.h\"\n"
      R"(
int main(void) {
  static int32_t arena[NET_ARENA_BYTES / 4 + 2];
  static net_input_t input[NET_INPUT_SIZE];
  static net_output_t output[NET_OUTPUT_SIZE];
  static int32_t classes[NET_BATCH];
  return !(net_run(arena, input, output) == NET_OK &&
           net_run(0, input, output) == NET_NULL_POINTER &&
           net_run(arena, 0, output) == NET_NULL_POINTER &&
           net_run(arena, input, 0) == NET_NULL_POINTER &&
           net_run((char *)arena + 1, input, output) == NET_ARENA_MISALIGNED &&
           net_classify((char *)arena + 2, input, classes) == NET_ARENA_MISALIGNED &&
           net_classify(arena, input, 0) == NET_NULL_POINTER);
}
)";
  EXPECT_EQ(EmittedProgram(network).failure("gcc"), "");
}

TEST(Emit, UsesNoKernelThatTheNetworkHasNot) {
  const Model model = small_network();
  const EmittedNetwork network = emit_c(model, {}, vectors_of(model));
  EXPECT_THAT(text_of(network, "net_kernels.h"), HasSubstr("net_linear_s8_s8_s32"));
  for (const char* word : {"conv2d", "float", "double", "malloc", "include <s"})
    EXPECT_THAT(text_of(network, "net_kernels.h"), Not(HasSubstr(word)));
}

TEST(Emit, TheReadmeSaysWhatItNeeds) {
  const Model model = small_network();
  const EmittedNetwork network = emit_c(model, {}, vectors_of(model));
  EXPECT_EQ(network.figures.macs, 8 * 6 + 6 * 3);
  EXPECT_EQ(network.figures.parameter_bytes, 48 + 4 + 18 + 4);
  EXPECT_EQ(network.figures.arena_bytes, 8 + 12);
  const std::string readme = text_of(network, "README.md");
  for (const char* words : {"| 20 bytes |", "| 74 bytes |", "| 66 |", "uint8_t", "net_run(arena"})
    EXPECT_THAT(readme, HasSubstr(words));
}

TEST(Emit, LimitsNameTheLayer) {
  EmitSettings settings;
  settings.ram = 19;
  EXPECT_EQ(failure_of(settings), "[emit] RAM at layer 'n3': got 20 bytes, expected at most 19");
  settings = {};
  settings.flash = 60;
  EXPECT_EQ(failure_of(settings),
            "[emit] flash, of all parameters up to it, at layer 'n3': got 74 bytes, expected at "
            "most 60");
}

// Numbers of emitted code have 32 bits, and so has what it computes on the way.
TEST(Emit, RefusesWindowsBeyondTwoToThe31) {
  const LimitsScope scope(parse_limits("geometry=2147483647"));
  constexpr std::int64_t kMost = 2147483647;
  NetworkMaker two({8, 8, 1}, integers_format("int8"));
  two.add(MaxPool{{kMost, 4}, {kMost, 1}, {kMost - 1, 0}});
  EXPECT_EQ(error_of([&] { check_emittable(two.model(), {}); }),
            "[network] node 'n1' (max_pool): padded picture: got 4294967294, expected at most 2^31 "
            "- 1 rows and columns in C");
  NetworkMaker one({8, 8, 1}, integers_format("int8"));
  one.add(MaxPool{{2, 2}, {kMost, kMost}, {0, 0}});
  EXPECT_EQ(error_of([&] { check_emittable(one.model(), {}); }), "no error");
}

TEST(Emit, RefusesWhatIsNoPrefixOrBatch) {
  for (const char* prefix : {"", "1a", "a-b", "ä"}) {
    EmitSettings settings;
    settings.prefix = prefix;
    EXPECT_THAT(failure_of(settings), HasSubstr("expected a C identifier")) << prefix;
  }
  EmitSettings settings;
  settings.batch = 0;
  EXPECT_EQ(failure_of(settings), "[emit] batch: got 0, expected 1 or more");
}

TEST(Emit, RefusesFloatsAndNamesAllOfThem) {
  Model model = small_network();
  for (Tensor& tensor : model.parameters) {
    if (tensor.dtype() == DType::i8) tensor = Tensor(DType::f32, tensor.shape());
  }
  EXPECT_THAT(error_of([&] { check_emittable(model, {}); }),
              HasSubstr("layers in floats: got n1, n3, expected none: 'nibble quantize'"));
}

}  // namespace
}  // namespace nibble::inline emit
