// One cell of the array. h runs to the right, v runs upwards.
//   forward  h = sum, v = x   : h + v * w
//   dx       h = dy,  v = sum : v + h * w      (the same stationary w)
//   dw       h = dy,  v = x   : acc + v * h    (acc stays, `load_acc` puts it on h)
// MODES 0 builds a cell that knows `forward` alone.
module pe #(parameter int FORMAT = 0, parameter int MODES = 1) (
  input  logic        clk,
  input  logic [1:0]  mode,
  input  logic        pass,      // h moves on unchanged
  input  logic        latch_w,   // w takes what h holds
  input  logic        load_acc,
  input  logic        clear_acc,
  input  logic [31:0] h_in,
  input  logic [31:0] v_in,
  output logic [31:0] h_out,
  output logic [31:0] v_out);
`ifdef ADAGP_PE_OUT_OF_LINE
  // 180 cells with the float multiply-add in SystemVerilog, inlined, cost the C++ compiler minutes.
  /*verilator no_inline_module*/
`endif
  logic [15:0] w, a, b;
  logic [31:0] c, y;
  mac #(.FORMAT(FORMAT)) multiply_add (.a(a), .b(b), .c(c), .y(y));
  always_ff @(posedge clk) if (latch_w) w <= h_out[15:0];
  generate
    if (MODES != 0) begin : g_three
      logic [31:0] acc;
      logic dx, dw;
      assign dx = mode == 2'(adagp_pkg::MODE_DX);
      assign dw = mode == 2'(adagp_pkg::MODE_DW);
      assign a = dx ? h_in[15:0] : v_in[15:0];
      assign b = dw ? h_in[15:0] : w;
      assign c = dx ? v_in : dw ? acc : h_in;
      always_ff @(posedge clk) begin
        h_out <= load_acc ? acc : (pass || dx || dw) ? h_in : y;
        v_out <= dx ? y : v_in;
        if (clear_acc) acc <= 32'd0;
        else if (dw) acc <= y;
      end
    end else begin : g_one
      assign a = v_in[15:0];
      assign b = w;
      assign c = h_in;
      always_ff @(posedge clk) begin
        h_out <= pass ? h_in : y;
        v_out <= {16'd0, v_in[15:0]};
      end
    end
  endgenerate
endmodule
