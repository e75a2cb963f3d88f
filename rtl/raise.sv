// y = x * 2^shift. FORMAT 0: saturates at +-(2^31 - 1), whose negatives are numbers, too. FORMAT 1:
// beyond the largest number it is infinity, and a subnormal x is 0.
module raise #(parameter int FORMAT = 0) (
  input  logic [31:0] x,
  input  logic [4:0]  shift,
  output logic [31:0] y);
  generate
    if (FORMAT == 0) begin : g_fixed
      logic signed [62:0] s;
      always_comb begin
        s = $signed({{31{x[31]}}, x}) <<< shift;
        y = s[62:31] == {32{s[62]}} && s[31:0] != 32'h80000000 ? s[31:0]
                                                               : {s[62], {30{!s[62]}}, 1'b1};
      end
    end else begin : g_float
      logic [8:0] exponent;
      always_comb begin
        exponent = {1'b0, x[30:23]} + {4'd0, shift};
        if (x[30:23] == 8'd0) y = 32'd0;
        else if (exponent >= 9'd255) y = {x[31], 8'hff, 23'd0};
        else y = {x[31], exponent[7:0], x[22:0]};
      end
    end
  endgenerate
endmodule
