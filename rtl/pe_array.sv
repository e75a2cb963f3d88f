// ROWS x COLS cells. Row r takes `left` lane r and gives `right` lane r; column c does the
// same upwards.
module pe_array #(
  parameter int ROWS = 4, parameter int COLS = 5, parameter int FORMAT = 0,
  parameter int MODES = 1) (
  input  logic               clk,
  input  logic [1:0]         mode,
  input  logic               pass,
  input  logic               latch_w,
  input  logic               load_acc,
  input  logic               clear_acc,
  input  logic [ROWS*32-1:0] left,
  input  logic [COLS*32-1:0] bottom,
  output logic [ROWS*32-1:0] right,
  output logic [COLS*32-1:0] top);
  logic [ROWS*(COLS+1)*32-1:0] h;
  logic [(ROWS+1)*COLS*32-1:0] v;
  assign v[COLS*32-1:0] = bottom;
  assign top = v[ROWS*COLS*32 +: COLS*32];
  genvar r, c;
  generate
    for (r = 0; r < ROWS; r = r + 1) begin : g_row
      assign h[r*(COLS+1)*32 +: 32] = left[r*32 +: 32];
      assign right[r*32 +: 32] = h[(r*(COLS+1)+COLS)*32 +: 32];
      for (c = 0; c < COLS; c = c + 1) begin : g_col
        pe #(.FORMAT(FORMAT), .MODES(MODES)) cell_ (
          .clk(clk), .mode(mode), .pass(pass), .latch_w(latch_w), .load_acc(load_acc),
          .clear_acc(clear_acc),
          .h_in(h[(r*(COLS+1)+c)*32 +: 32]), .v_in(v[(r*COLS+c)*32 +: 32]),
          .h_out(h[(r*(COLS+1)+c+1)*32 +: 32]), .v_out(v[((r+1)*COLS+c)*32 +: 32]));
      end
    end
  endgenerate
endmodule
